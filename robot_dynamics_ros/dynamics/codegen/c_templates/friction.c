/* Friction of a joint, in the columns of RobotModel.friction_parameters. */
struct @robot@_joint {
    double viscous, coulomb, coulomb_negative, static_level, stribeck_velocity;
    double ripple_amplitude, ripple_per_turn, ripple_phase;
    double sigmoid_amplitude, sigmoid_slope, sigmoid_shift;
    double load_driving, load_backdriving;
    double quadratic, cubic;
};

static const struct @robot@_joint @robot@_joints[] = @joints@;

/* 1 / (1 + exp(-x)) without overflow. */
static double @robot@_logistic(double x)
{
    if (x >= 0.0)
        return 1.0 / (1.0 + exp(-x));
    const double power = exp(x);
    return power / (1.0 + power);
}

/* Viscous, quadratic, cubic and sigmoid friction. */
static double @robot@_smooth_friction(const struct @robot@_joint *joint, double rate)
{
    const double speed = fabs(rate);
    double torque = (joint->viscous + (joint->quadratic + joint->cubic * speed) * speed) * rate;
    if (joint->sigmoid_amplitude != 0.0) {
        const double slope = joint->sigmoid_slope, shift = joint->sigmoid_shift;
        torque += joint->sigmoid_amplitude * (@robot@_logistic(slope * (rate + shift)) - @robot@_logistic(slope * shift));
    }
    return torque;
}

/* Coulomb and static friction with Stribeck effect, ripple and load, at a rate other than zero. */
static double @robot@_dry_magnitude(const struct @robot@_joint *joint, double level, double position, double rate,
    double load)
{
    const double ratio = joint->stribeck_velocity > 0.0 ? rate / joint->stribeck_velocity : 0.0;
    const double static_share = joint->stribeck_velocity > 0.0 ? exp(-ratio * ratio) : 0.0;
    const double excess = joint->static_level > level ? joint->static_level - level : 0.0;
    double bound = level + static_share * excess;
    if (joint->ripple_amplitude > 0.0)
        bound += joint->ripple_amplitude * sin(joint->ripple_per_turn * position + joint->ripple_phase);
    double mu = load * rate > 0.0 ? joint->load_driving : joint->load_backdriving;
    if (mu > 0.0 && joint->static_level > level && level > 0.0)
        mu *= 1.0 + static_share * (joint->static_level / level - 1.0);
    return (bound > 0.0 ? bound : 0.0) + mu * fabs(load);
}

/* All friction; below the speed fade it is the friction at that speed times |rate| / fade. */
static double @robot@_joint_friction(const struct @robot@_joint *joint, double position, double rate, double load,
    double fade)
{
    const double speed = fabs(rate);
    double share = 1.0, dry = 0.0;
    if (speed < fade) {
        share = speed / fade;
        rate = copysign(fade, rate);
    }
    if (rate > 0.0)
        dry = @robot@_dry_magnitude(joint, joint->coulomb, position, rate, load);
    else if (rate < 0.0)
        dry = -@robot@_dry_magnitude(joint, joint->coulomb_negative, position, rate, load);
    return share * (@robot@_smooth_friction(joint, rate) + dry);
}

/* Friction of a joint, in the columns of RobotModel.friction_parameters. */
typedef struct {
    double @columns@;
} @robot@_joint;

static const @robot@_joint @robot@_joints[] = @joints@;
@law@
static double @robot@_dry_friction(const @robot@_joint *joint, double position, double rate, double load)
{
    const double level = rate > 0.0 ? joint->COULOMB : joint->COULOMB_NEGATIVE;
    const double bound = @robot@_friction_bound(joint, level, position, rate);
    const double per_load = @robot@_load_coefficient(joint, level, rate, load * rate > 0.0);
    return rate == 0.0 ? 0.0 : copysign(bound + per_load * fabs(load), rate);
}

/* All friction; below the speed fade it is the friction at that speed times |rate| / fade. */
static double @robot@_joint_friction(const @robot@_joint *joint, double position, double rate, double load, double fade)
{
    const double speed = fabs(rate);
    double share = 1.0;
    if (speed < fade) {
        share = speed / fade;
        rate = copysign(fade, rate);
    }
    return share * (@robot@_smooth_friction(joint, rate) + @robot@_dry_friction(joint, position, rate, load));
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Dynamics of the robot "@title@", written by robot_dynamics_ros @version@; the header describes the functions. */

#include "@robot@_dynamics.h"

#include <float.h>
#include <math.h>

/* No fused multiplications and additions, as with the option -ffp-contract=off. */
#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif

/* Parts of a long function stay separate functions: compilers need too long for them as one. */
#ifdef __GNUC__
#define @ROBOT@_NOT_INLINED __attribute__((noinline))
#else
#define @ROBOT@_NOT_INLINED
#endif

const char *const @robot@_joint_names[@ROBOT@_N] = {@joint_names@};

const double @robot@_position_lower[@ROBOT@_N] = @position_lower@;
const double @robot@_position_upper[@ROBOT@_N] = @position_upper@;
const double @robot@_velocity_limits[@ROBOT@_N] = @velocity_limits@;
const double @robot@_effort_limits[@ROBOT@_N] = @effort_limits@;

const double @robot@_gravity[3] = @gravity@;
const double @robot@_payload[10] = @payload@;
const double @robot@_no_payload[10] = {0.0};

@friction@
@functions@
void @robot@_make_payload(double mass, const double *@ROBOT@_RESTRICT com, const double *@ROBOT@_RESTRICT inertia,
    double *@ROBOT@_RESTRICT payload)
{
    const double x = com[0], y = com[1], z = com[2];
    payload[0] = mass;
    payload[1] = mass * x;
    payload[2] = mass * y;
    payload[3] = mass * z;
    payload[4] = inertia[0] + mass * (y * y + z * z);
    payload[5] = inertia[1] - mass * x * y;
    payload[6] = inertia[2] - mass * x * z;
    payload[7] = inertia[3] + mass * (x * x + z * z);
    payload[8] = inertia[4] - mass * y * z;
    payload[9] = inertia[5] + mass * (x * x + y * y);
}

@computed_torque@
{
    double qdd[@ROBOT@_N];
    for (int j = 0; j < @ROBOT@_N; j++)
        qdd[j] = qdd_d[j] + kd[j] * (qd_d[j] - qd[j]) + kp[j] * (q_d[j] - q[j]);
    @robot@_inverse_dynamics(q, qd, qdd, gravity, payload, tau);
}

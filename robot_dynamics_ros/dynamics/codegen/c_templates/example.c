/* SPDX-License-Identifier: Apache-2.0 */
/* Example: gravity torque and one step of the computed-torque law. */

#include "@robot@_dynamics.h"

#include <stdio.h>

int main(void)
{
    double q[@ROBOT@_N] = {0.0}, qd[@ROBOT@_N] = {0.0}, rest[@ROBOT@_N] = {0.0};
    double kp[@ROBOT@_N], kd[@ROBOT@_N], q_d[@ROBOT@_N], hold[@ROBOT@_N], tau[@ROBOT@_N];
    for (int j = 0; j < @ROBOT@_N; j++) {
        kp[j] = 100.0; /* 1/s^2 */
        kd[j] = 20.0;  /* 1/s */
        q_d[j] = 0.01;
    }
    @robot@_gravity_torque(q, @robot@_gravity, @robot@_payload, hold);
    @robot@_computed_torque(q, qd, q_d, rest, rest, kp, kd, @robot@_gravity, @robot@_payload, tau);
    for (int j = 0; j < @ROBOT@_N; j++)
        printf("%-30s gravity torque %10.4f, computed torque %10.4f\n", @robot@_joint_names[j], hold[j], tau[j]);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Dynamics of the robot "@title@", written by robot_dynamics_ros @version@ (robot_dynamics export).

   All quantities are in SI units: rad or m, rad/s or m/s, rad/s^2 or m/s^2, Nm or N. Vectors have @ROBOT@_N elements, in
   the order of @robot@_joint_names:

@joints@

   Matrices are stored row by row. An array that is written must not overlap any other argument. Functions allocate no
   memory, keep no state and can be called from several threads at once.

   gravity   acceleration of gravity (3) in the frame of the root link, m/s^2; @robot@_gravity is that of the model.
   payload   body that is rigidly attached to the link @payload_link@: mass, first moment of mass (3), and inertia (ixx
             ixy ixz iyy iyz izz) about the origin of the link's frame, in its axes; kg, kg m, kg m^2. It comes from
             @robot@_make_payload. @robot@_payload is that of the model, @robot@_no_payload is none. */

#ifndef @ROBOT@_DYNAMICS_H
#define @ROBOT@_DYNAMICS_H @fingerprint@ /* of the code; compared where the header is included again */

#define @ROBOT@_N @n@
#define @ROBOT@_VERSION "@version@"
#define @ROBOT@_VERSION_NUMBER @version_number@ /* 10000 major + 100 minor + patch */
/* SHA-256 of the files that the model was read from; empty for none. */
#define @ROBOT@_URDF_SHA256 "@urdf_sha256@"
#define @ROBOT@_DYNAMICS_SHA256 "@dynamics_sha256@"

#ifdef __cplusplus
#define @ROBOT@_RESTRICT
extern "C" {
#else
#define @ROBOT@_RESTRICT restrict
#endif

enum @robot@_status {
    @ROBOT@_OK = 0,
    @ROBOT@_NOT_FINITE = -1, /* an argument or the result is not finite, or their sum is too large */
    @ROBOT@_SINGULAR = 1     /* + j: the mass matrix is not positive definite at coordinate j */
};

extern const char *const @robot@_joint_names[@ROBOT@_N];

/* Limits; HUGE_VAL if there is none. */
extern const double @robot@_position_lower[@ROBOT@_N];
extern const double @robot@_position_upper[@ROBOT@_N];
extern const double @robot@_velocity_limits[@ROBOT@_N];
extern const double @robot@_effort_limits[@ROBOT@_N];

extern const double @robot@_gravity[3];
extern const double @robot@_payload[10];
extern const double @robot@_no_payload[10];

@prototypes@

#ifdef __cplusplus
}
#endif

#elif @ROBOT@_DYNAMICS_H != @fingerprint@
#error "Two robots have the prefix @robot@. Cure: export one of them with another --name"
#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Dynamics of the robot "@title@" for C++17, written by robot_dynamics_ros @version@.

   @robot@_dynamics.h describes functions, units and orders. With @ROBOT@_WITH_EIGEN defined before this file is included,
   as_vector and as_matrix return Eigen maps of arrays, without a copy. */

#include "@robot@_dynamics.h" /* outside the guard, since it refuses another robot with this prefix */

#ifndef @ROBOT@_DYNAMICS_HPP
#define @ROBOT@_DYNAMICS_HPP

#include <array>
#include <cmath>
#include <cstddef>

#ifdef @ROBOT@_WITH_EIGEN
#include <Eigen/Core>
#endif

namespace @robot@_dynamics
{

inline constexpr std::size_t n = @ROBOT@_N;
inline constexpr std::array<const char *, n> joint_names{{@joint_names@}};
inline constexpr std::array<double, n> position_lower{@position_lower@};
inline constexpr std::array<double, n> position_upper{@position_upper@};
inline constexpr std::array<double, n> velocity_limits{@velocity_limits@};
inline constexpr std::array<double, n> effort_limits{@effort_limits@};
inline constexpr std::array<double, 3> gravity{@gravity@};
inline constexpr std::array<double, 10> payload{@payload@};
inline constexpr std::array<double, 10> no_payload{};

@wrappers@

/* With gravity and payload of the model. */
inline int forward_dynamics(const std::array<double, n> &q, const std::array<double, n> &qd,
    const std::array<double, n> &tau, std::array<double, n> &qdd) noexcept
{
    return forward_dynamics(q, qd, tau, gravity, payload, qdd);
}

#ifdef @ROBOT@_WITH_EIGEN

template <std::size_t size>
Eigen::Map<const Eigen::Matrix<double, static_cast<int>(size), 1>> as_vector(const std::array<double, size> &x)
{
    return Eigen::Map<const Eigen::Matrix<double, static_cast<int>(size), 1>>(x.data());
}

template <int rows, std::size_t size>
auto as_matrix(const std::array<double, size> &x)
{
    constexpr int columns = static_cast<int>(size) / rows;
    constexpr int order = columns == 1 ? Eigen::ColMajor : Eigen::RowMajor;
    return Eigen::Map<const Eigen::Matrix<double, rows, columns, order>>(x.data());
}

#endif

}  // namespace @robot@_dynamics

#endif

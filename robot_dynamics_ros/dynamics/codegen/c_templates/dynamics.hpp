/* Dynamics of the robot "@title@" for C++17, written by robot_dynamics_ros @version@.

   @robot@_dynamics.h describes functions, units and orders. With @ROBOT@_WITH_EIGEN defined before this file is included,
   as_vector and as_matrix return Eigen maps of arrays, without a copy. */

#ifndef @ROBOT@_DYNAMICS_HPP
#define @ROBOT@_DYNAMICS_HPP

#include <array>
#include <cstddef>

#include "@robot@_dynamics.h"

#ifdef @ROBOT@_WITH_EIGEN
#include <Eigen/Core>
#endif

namespace @robot@_dynamics
{

inline constexpr std::size_t n = @ROBOT@_N;

@wrappers@

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

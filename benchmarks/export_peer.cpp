// Times an exported robot's C functions and Pinocchio's C++ functions in turns, after comparing their results.
//
// Arguments: the URDF, the numbers of rounds and of single calls, and the joints to lock. ROBOT and HEADER are defined on
// the command line. Output: a line for each time in ns: function, library, "round" (mean of CALLS calls) or "worst".

#include <pinocchio/algorithm/aba.hpp>
#include <pinocchio/algorithm/crba.hpp>
#include <pinocchio/algorithm/joint-configuration.hpp>
#include <pinocchio/algorithm/model.hpp>
#include <pinocchio/algorithm/rnea.hpp>
#include <pinocchio/parsers/urdf.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <vector>

#include HEADER

#define JOINED(a, b) a##_##b
#define NAMED(a, b) JOINED(a, b)
#define OURS(name) NAMED(ROBOT, name)

using Eigen::MatrixXd;
using Eigen::VectorXd;
using Clock = std::chrono::steady_clock;

static const int CALLS = 1000;

struct Function {
    const char *name;
    std::function<void(int)> ours, peer;  // of a state
    std::function<double(int)> difference;
};

static double nanoseconds(Clock::duration duration)
{
    return std::chrono::duration<double, std::nano>(duration).count();
}

// Mean time of a call, over all states.
template <class F> static double time_of(const F &call)
{
    const auto start = Clock::now();
    for (int k = 0; k < CALLS; k++)
        call(k);
    return nanoseconds(Clock::now() - start) / CALLS;
}

template <class F> static double worst_of(const F &call, int count)
{
    double worst = 0.0;
    for (int k = 0; k < count; k++) {
        const auto start = Clock::now();
        call(k % CALLS);
        worst = std::max(worst, nanoseconds(Clock::now() - start));
    }
    return worst;
}

int main(int argc, char **argv)
{
    pinocchio::Model full, model;
    pinocchio::urdf::buildModel(argv[1], full);
    std::vector<pinocchio::JointIndex> locked;
    for (int i = 4; i < argc; i++)
        locked.push_back(full.getJointId(argv[i]));
    pinocchio::buildReducedModel(full, locked, pinocchio::neutral(full), model);
    pinocchio::Data data(model);
    const int n = model.nv;
    if (model.nq != n) {
        std::fprintf(stderr, "continuous joints are not supported\n");
        return 1;
    }

    std::vector<int> place(n);  // of our joints in Pinocchio's vectors
    for (int j = 0; j < n; j++)
        place[j] = model.joints[model.getJointId(OURS(joint_names)[j])].idx_v();
    std::mt19937 generator(0);
    std::normal_distribution<double> normal;
    std::vector<VectorXd> q, qd, qdd, peer_q, peer_qd, peer_qdd;
    for (int k = 0; k < CALLS; k++) {
        for (auto *list : {&q, &qd, &qdd})
            list->push_back(VectorXd::NullaryExpr(n, [&] { return normal(generator); }));
        for (auto [list, own] : {std::pair{&peer_q, &q}, {&peer_qd, &qd}, {&peer_qdd, &qdd}}) {
            list->emplace_back(n);
            for (int j = 0; j < n; j++)
                list->back()[place[j]] = own->back()[j];
        }
    }

    const double *gravity = OURS(gravity), *payload = OURS(no_payload);
    VectorXd vector(n);
    MatrixXd matrix(n, n);  // symmetric: the order of rows and columns does not matter
    const auto differ = [&](const VectorXd &peer) {
        double worst = 0.0;
        for (int j = 0; j < n; j++)
            worst = std::max(worst, std::abs(peer[place[j]] - vector[j]));
        return worst / peer.norm();
    };
    const auto differ_matrix = [&](const MatrixXd &peer) {
        double worst = 0.0;
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                worst = std::max(worst, std::abs(peer(std::min(place[i], place[j]), std::max(place[i], place[j]))
                                                 - matrix(i, j)));
        return worst / matrix.norm();
    };
    const std::vector<Function> functions = {
        {"inverse_dynamics",
         [&](int k) { OURS(inverse_dynamics)(q[k].data(), qd[k].data(), qdd[k].data(), gravity, payload, vector.data()); },
         [&](int k) { pinocchio::rnea(model, data, peer_q[k], peer_qd[k], peer_qdd[k]); },
         [&](int) { return differ(data.tau); }},
        {"gravity_torque",
         [&](int k) { OURS(gravity_torque)(q[k].data(), gravity, payload, vector.data()); },
         [&](int k) { pinocchio::computeGeneralizedGravity(model, data, peer_q[k]); },
         [&](int) { return differ(data.g); }},
        {"mass_matrix",
         [&](int k) { OURS(mass_matrix)(q[k].data(), payload, matrix.data()); },
         [&](int k) { pinocchio::crba(model, data, peer_q[k]); },
         [&](int) { return differ_matrix(data.M); }},
        {"forward_dynamics",
         [&](int k) { OURS(forward_dynamics)(q[k].data(), qd[k].data(), qdd[k].data(), gravity, payload, vector.data()); },
         [&](int k) { pinocchio::aba(model, data, peer_q[k], peer_qd[k], peer_qdd[k]); },
         [&](int) { return differ(data.ddq); }},
    };
    for (const Function &function : functions) {
        for (int k = 0; k < CALLS; k++) {
            function.ours(k);
            function.peer(k);
            if (!(function.difference(k) < 1e-8)) {
                std::fprintf(stderr, "%s differs: %g\n", function.name, function.difference(k));
                return 1;
            }
        }
        for (int round = 0; round < std::atoi(argv[2]); round++) {
            std::printf("%s ours round %g\n", function.name, time_of(function.ours));
            std::printf("%s Pinocchio round %g\n", function.name, time_of(function.peer));
        }
        std::printf("%s ours worst %g\n", function.name, worst_of(function.ours, std::atoi(argv[3])));
        std::printf("%s Pinocchio worst %g\n", function.name, worst_of(function.peer, std::atoi(argv[3])));
    }
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Self-test: compares all functions with results of the Python package for the same model. Exit code 0: all agree. */

#include "@robot@_dynamics.h"

#include <math.h>
#include <stdio.h>

#define N @ROBOT@_N
#define CASES @cases@

@tables@

static double norm(const double *x, int size)
{
    double total = 0.0;
    for (int i = 0; i < size; i++)
        total += x[i] * x[i];
    return sqrt(total);
}

static double worst = 0.0;

/* Return 1 if an element differs by more than 1e-13 of the norm of its row, plus a rounding error of the terms. */
static int compare(const char *name, int k, const double *x, const double *expected, int rows, int columns, double terms)
{
    for (int r = 0; r < rows; r++) {
        const double bound = 1e-13 * norm(expected + r * columns, columns) + 1e-15 * terms;
        for (int c = 0; c < columns; c++) {
            const double error = fabs(x[r * columns + c] - expected[r * columns + c]);
            if (error > 0.0 && error > worst * bound)
                worst = error / bound;
            if (!(error <= bound)) {
                printf("%s, case %d: [%d][%d] is %.17g instead of %.17g\n", name, k, r, c, x[r * columns + c],
                       expected[r * columns + c]);
                return 1;
            }
        }
    }
    return 0;
}

/* Return 1 if |M qdd + h - tau| exceeds 1e-12 (|M| |qdd| + |h| + |tau|), or if the status is not the expected one. */
static int check_forward_dynamics(int k)
{
    static double matrix[N * N], bias[N], acceleration[N];
    double residual = 0.0;
    const int status = @robot@_forward_dynamics(q[k], qd[k], tau[k], gravity[k], payload[k], acceleration);
    if (status != 0 || singular[k] != 0.0) {
        if ((status != 0) == (singular[k] != 0.0))
            return 0;
        printf("forward_dynamics, case %d: status %d\n", k, status);
        return 1;
    }
    @robot@_mass_matrix(q[k], payload[k], matrix);
    @robot@_bias_torque(q[k], qd[k], gravity[k], payload[k], bias);
    for (int i = 0; i < N; i++) {
        double total = bias[i] - tau[k][i];
        for (int j = 0; j < N; j++)
            total += matrix[i * N + j] * acceleration[j];
        residual = fmax(residual, fabs(total));
    }
    if (residual <= 1e-12 * (norm(matrix, N * N) * norm(acceleration, N) + norm(bias, N) + norm(tau[k], N)))
        return 0;
    printf("forward_dynamics, case %d: residual %g\n", k, residual);
    return 1;
}

/* Return 1 if forward dynamics accepts an infinite torque. */
static int check_not_finite(void)
{
    double torque[N] = {HUGE_VAL}, acceleration[N];
    if (@robot@_forward_dynamics(q[0], qd[0], torque, gravity[0], payload[0], acceleration) == @ROBOT@_NOT_FINITE)
        return 0;
    printf("forward_dynamics: an infinite torque is accepted\n");
    return 1;
}

int main(void)
{
    static double result[@largest@];
    int failures = check_not_finite();
    for (int k = 0; k < CASES; k++) {
@calls@
        failures += check_forward_dynamics(k);
    }
    printf("%d cases, %d failures, largest error %.2g of its bound\n", CASES, failures, worst);
    return failures != 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Python module @robot@_dynamics of the robot "@title@", written by robot_dynamics_ros @version@.

   Each function takes the arguments of the C function, without the result: for a vector an array (size,) or (count,
   size), for a number a number; None, or nothing, for the model's gravity and payload and for a smoothing velocity of 0.
   The result is one array, of "count" results if an argument has two axes. That of a state with a value that is not
   finite is NaN, unless the function raises ArithmeticError. Masked arrays are refused. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <math.h>

#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
#include <numpy/arrayobject.h>

#include "@robot@_dynamics.h"

#define MOST_ARGUMENTS 10

typedef struct {
    const char *name;
    int required, count;            /* numbers of arguments; defaults replace those that are left out */
    npy_intp sizes[MOST_ARGUMENTS]; /* 0 for a number */
    const double *defaults[MOST_ARGUMENTS];
    int axes; /* of the result */
    npy_intp shape[2];
    int (*run)(const double *const *arguments, double *result);
} Function;

/* Argument of a call: its first element, and the distance of the elements for successive states. */
typedef struct {
    const double *data;
    npy_intp step;
    npy_intp checked; /* number of elements; the result is NaN if one of them is not finite */
    double number;
    PyArrayObject *owner; /* array that is released after the call, or NULL */
} Argument;

/* Read an argument; set *states if it has two axes. Return 0, or -1 with an exception. */
static int read_argument(const Function *function, int i, PyObject *object, Argument *argument, npy_intp *states)
{
    const npy_intp size = function->sizes[i];
    PyArrayObject *array = NULL;
    argument->step = 0;
    argument->owner = NULL;
    if (object == Py_None && function->defaults[i] != NULL) {
        argument->data = function->defaults[i];
        return 0;
    }
    if (size == 0) {
        argument->number = PyFloat_AsDouble(object);
        argument->data = &argument->number;
        return argument->number == -1.0 && PyErr_Occurred() ? -1 : 0;
    }
    if (PyArray_CheckExact(object) && PyArray_TYPE((PyArrayObject *)object) == NPY_DOUBLE
        && PyArray_ISCARRAY_RO((PyArrayObject *)object)) {
        array = (PyArrayObject *)object;
    } else if (PyObject_HasAttrString(object, "mask")) {
        PyErr_Format(PyExc_TypeError, "%s: argument %d is a masked array", function->name, i + 1);
        return -1;
    } else {
        array = (PyArrayObject *)PyArray_FROM_OTF(object, NPY_DOUBLE, NPY_ARRAY_CARRAY_RO);
        if (array == NULL)
            return -1;
        argument->owner = array;
    }
    argument->data = PyArray_DATA(array);
    const int axes = PyArray_NDIM(array);
    if (axes == 1 && PyArray_DIM(array, 0) == size)
        return 0;
    if (axes == 2 && PyArray_DIM(array, 1) == size && (*states < 0 || *states == PyArray_DIM(array, 0))) {
        *states = PyArray_DIM(array, 0);
        argument->step = size;
        return 0;
    }
    PyErr_Format(PyExc_ValueError, "%s: argument %d must have the shape (%zd,) or (count, %zd)", function->name, i + 1,
                 (Py_ssize_t)size, (Py_ssize_t)size);
    return -1;
}

/* Compute the results for all states. Return 0, or the status of the first state that failed. */
static int run(const Function *function, const Argument *arguments, npy_intp states, double *result, npy_intp size)
{
    const double *data[MOST_ARGUMENTS];
    for (npy_intp k = 0; k < states; k++) {
        int finite = 1;
        for (int i = 0; i < function->count; i++) {
            data[i] = arguments[i].data + k * arguments[i].step;
            for (npy_intp j = 0; j < arguments[i].checked; j++)
                finite &= isfinite(data[i][j]) != 0;
        }
        const int status = function->run(data, result + k * size);
        if (status)
            return status;
        for (npy_intp j = 0; j < size && !finite; j++)
            result[k * size + j] = NAN;
    }
    return 0;
}

/* Return the result for "count" arguments and the "last" ones, or their defaults; NULL with an exception. */
static PyObject *compute(const Function *function, PyObject *const *objects, Py_ssize_t count, PyObject *const *last)
{
    Argument arguments[MOST_ARGUMENTS];
    PyObject *result = NULL;
    npy_intp states = -1;
    int passed = 0, status = 0;
    if (count < function->required || count > function->count) {
        return PyErr_Format(PyExc_TypeError, "%s takes %d to %d arguments, not %zd", function->name, function->required,
                            function->count, count);
    }
    while (passed < function->count) {
        const int i = passed++;
        PyObject *const object = i < count ? objects[i] : last != NULL ? last[i - count] : Py_None;
        if (read_argument(function, i, object, &arguments[i], &states) < 0)
            goto end;
        arguments[i].checked = i >= count ? 0 : function->sizes[i] ? function->sizes[i] : 1;
    }
    const npy_intp shape[3] = {states, function->shape[0], function->shape[1]};
    const npy_intp size = function->shape[0] * (function->axes == 2 ? function->shape[1] : 1);
    const int single = states < 0;
    result = PyArray_SimpleNew(function->axes + !single, (npy_intp *)shape + single, NPY_DOUBLE);
    if (result == NULL)
        goto end;
    double *const elements = PyArray_DATA((PyArrayObject *)result);
    if (single) {
        status = run(function, arguments, 1, elements, size);
    } else {
        Py_BEGIN_ALLOW_THREADS
        status = run(function, arguments, states, elements, size);
        Py_END_ALLOW_THREADS
    }
    if (status) {
        Py_CLEAR(result);
        if (status == @ROBOT@_NOT_FINITE)
            PyErr_Format(PyExc_ArithmeticError, "%s: an argument or the result is not finite", function->name);
        else
            PyErr_Format(PyExc_ArithmeticError, "%s: the mass matrix is not positive definite at coordinate %d",
                         function->name, status - @ROBOT@_SINGULAR);
    }
end:
    for (int i = 0; i < passed; i++)
        Py_XDECREF(arguments[i].owner);
    return result;
}

/* Call a function of the module, or one of bind, whose arguments are then self: function, otherwise, *last. */
static PyObject *call(const Function *function, PyObject *self, PyObject *const *objects, Py_ssize_t count)
{
    if (!PyTuple_CheckExact(self))
        return compute(function, objects, count, NULL);
    int plain = count == function->required && count + PyTuple_GET_SIZE(self) - 2 == function->count;
    for (Py_ssize_t i = 0; plain && i < count; i++) {
        PyArrayObject *const array = (PyArrayObject *)objects[i];
        plain = PyArray_CheckExact(array) && PyArray_TYPE(array) == NPY_DOUBLE && PyArray_NDIM(array) == 1;
    }
    PyObject *const result = plain ? compute(function, objects, count, ((PyTupleObject *)self)->ob_item + 2) : NULL;
    if (result != NULL)
        return result;
    PyErr_Clear();
    return PyObject_Vectorcall(PyTuple_GET_ITEM(self, 1), objects, (size_t)count, NULL);
}

static PyObject *python_bind(PyObject *module, PyObject *self)
{
    PyObject *const function = PyTuple_GET_SIZE(self) < 2 ? NULL : PyTuple_GET_ITEM(self, 0);
    if (function == NULL || !PyCFunction_CheckExact(function) || PyCFunction_GET_SELF(function) != module)
        return PyErr_Format(PyExc_TypeError, "bind takes a function of this module, another function, and arguments");
    return PyCFunction_New(((PyCFunctionObject *)function)->m_ml, self);
}

@functions@

static PyMethodDef methods[] = {
@methods@
    {"bind", python_bind, METH_VARARGS,
     "bind($module, function, otherwise, /, *last)\n--\n\nFunction of one state with its last arguments bound. It "
     "returns otherwise(*arguments) if it fails, and for other arguments than float64 arrays with one axis."},
    {NULL, NULL, 0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "@robot@_dynamics", "Dynamics of the robot @title@; docs of the functions: @robot@_dynamics.h.",
    -1, methods, NULL, NULL, NULL, NULL};

/* Add a read-only array to the module. Return 0, or -1 with an exception. */
static int add_vector(PyObject *module, const char *name, const double *data, npy_intp size)
{
    PyObject *array = PyArray_SimpleNewFromData(1, &size, NPY_DOUBLE, (void *)data);
    if (array == NULL)
        return -1;
    PyArray_CLEARFLAGS((PyArrayObject *)array, NPY_ARRAY_WRITEABLE);
    const int status = PyModule_AddObjectRef(module, name, array);
    Py_DECREF(array);
    return status;
}

static int add_constants(PyObject *module)
{
    PyObject *names = PyTuple_New(@ROBOT@_N);
    if (names == NULL)
        return -1;
    for (int i = 0; i < @ROBOT@_N; i++)
        PyTuple_SET_ITEM(names, i, PyUnicode_FromString(@robot@_joint_names[i]));
    const int failed = PyErr_Occurred() != NULL || PyModule_AddObjectRef(module, "joint_names", names);
    Py_DECREF(names);
    return failed
           || PyModule_AddStringConstant(module, "__version__", @ROBOT@_VERSION)
           || PyModule_AddStringConstant(module, "urdf_sha256", @ROBOT@_URDF_SHA256)
           || PyModule_AddStringConstant(module, "dynamics_sha256", @ROBOT@_DYNAMICS_SHA256)
           || PyModule_AddStringConstant(module, "payload_link", @payload_link_string@)
           || add_vector(module, "position_lower", @robot@_position_lower, @ROBOT@_N)
           || add_vector(module, "position_upper", @robot@_position_upper, @ROBOT@_N)
           || add_vector(module, "velocity_limits", @robot@_velocity_limits, @ROBOT@_N)
           || add_vector(module, "effort_limits", @robot@_effort_limits, @ROBOT@_N)
           || add_vector(module, "gravity", @robot@_gravity, 3)
           || add_vector(module, "payload", @robot@_payload, 10)
           || add_vector(module, "no_payload", @robot@_no_payload, 10)
        ? -1
        : 0;
}

PyMODINIT_FUNC PyInit_@robot@_dynamics(void)
{
    import_array();
    PyObject *module = PyModule_Create(&definition);
    if (module != NULL && add_constants(module) < 0)
        Py_CLEAR(module);
    return module;
}

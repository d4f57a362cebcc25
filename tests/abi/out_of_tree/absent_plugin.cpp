/* absent_plugin.cpp — the smallest plugin: it can be asked who it is, and says that its device is not there. */
#include <quoin/glue_program.h>
#include <quoin/glue_step.h>

static qn_status QN_CALL start(const qn_host *, const qn_option *, uint32_t, qn_plugin_state **, qn_error *err) {
    return qn_fail(err, QN_UNAVAILABLE, "libabsent.so.1: there is no such library; this plugin only shows how to begin");
}

static void QN_CALL stop(qn_plugin_state *) {
}

extern "C" QN_EXPORT qn_status QN_CALL quoin_backend_query_0(const qn_query_in *in, qn_query_out *out) {
    static const qn_plugin verbs = {sizeof(qn_plugin), 0, start, stop, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
                                    nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr};
    qn_query_in own;
    const qn_status status = qn_copy_in(&own, sizeof own, sizeof own, in);
    if (status != QN_OK || out == nullptr || out->size < sizeof *out) {
        return status == QN_OK ? static_cast<qn_status>(QN_BAD_ARG) : status;
    }
    out->minor = QN_ABI_MINOR;
    out->name = "absent";
    out->version = "1";
    out->build_id = "1";
    out->licence = "Apache-2.0";
    out->plugin = &verbs;
    out->options = nullptr;
    out->n_options = 0;
    return QN_OK;
}

/* signing_key.c — private keys through libcrypto. */
#include "keys/signing_key.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>
#include <openssl/x509.h>

#include "keys/private_file.h"

/* scrypt of 16 MiB: what a passphrase costs to try; libcrypto reads up to 32 MiB without being asked. */
#define SCRYPT_N 16384
#define SCRYPT_R 8
#define SCRYPT_P 1

struct signing_key {
    EVP_PKEY *pair;
    public_key shown;
};

static qn_status refuse_crypto(error_context *err, const char *path, const char *doing) {
    char text[160] = "no reason given";
    const unsigned long number = ERR_peek_last_error();
    if (number != 0) {
        ERR_error_string_n(number, text, sizeof text);
    }
    ERR_clear_error();
    return FAIL(err, QN_INTERNAL, "%s: libcrypto refuses %s: %s", path, doing, text);
}

static qn_status read_public(EVP_PKEY *pair, const char *path, public_key *out, error_context *err) {
    uint8_t bytes[PUBLIC_KEY_BYTES];
    size_t size = sizeof bytes;
    if (EVP_PKEY_get_raw_public_key(pair, bytes, &size) != 1 || size != sizeof bytes) {
        return refuse_crypto(err, path, "to tell the public key");
    }
    return public_key_make(bytes, out, err);
}

/* ---------------------------------------------------------------- making */

/* The key in PEM, sealed by the passphrase. */
static bool write_sealed(BIO *out, PKCS8_PRIV_KEY_INFO *info, const char *passphrase) {
    X509_ALGOR *recipe = PKCS5_pbe2_set_scrypt(EVP_aes_256_cbc(), NULL, 0, NULL, SCRYPT_N, SCRYPT_R, SCRYPT_P);
    X509_SIG *sealed = recipe != NULL ? PKCS8_set0_pbe(passphrase, (int)strlen(passphrase), info, recipe) : NULL;
    if (sealed == NULL) {
        X509_ALGOR_free(recipe);
        return false;
    }
    const bool is_written = PEM_write_bio_PKCS8(out, sealed) == 1;
    X509_SIG_free(sealed); /* and the recipe with it */
    return is_written;
}

static bool write_pem(EVP_PKEY *pair, const char *passphrase, BIO *out) {
    PKCS8_PRIV_KEY_INFO *info = EVP_PKEY2PKCS8(pair);
    const bool is_written = info != NULL && (passphrase != NULL ? write_sealed(out, info, passphrase)
                                                                : PEM_write_bio_PKCS8_PRIV_KEY_INFO(out, info) == 1);
    PKCS8_PRIV_KEY_INFO_free(info);
    return is_written;
}

static qn_status write_file(EVP_PKEY *pair, const char *path, const char *passphrase, error_context *err) {
    BIO *text = BIO_new(BIO_s_secmem());
    char *data = NULL;
    qn_status status;
    if (text == NULL || !write_pem(pair, passphrase, text)) {
        status = refuse_crypto(err, path, "to write a key");
    } else {
        const long size = BIO_get_mem_data(text, &data);
        status = private_file_create(path, data, (size_t)size, err);
    }
    BIO_free(text);
    return status;
}

qn_status signing_key_create(const char *path, const char *passphrase, public_key *out_public, error_context *err) {
    EVP_PKEY *pair = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
    public_key shown;
    if (pair == NULL) {
        return refuse_crypto(err, path, "to make a key");
    }
    qn_status status = read_public(pair, path, &shown, err);
    status = status < 0 ? status : write_file(pair, path, passphrase, err);
    EVP_PKEY_free(pair);
    if (status >= 0) {
        *out_public = shown;
    }
    return status;
}

/* ---------------------------------------------------------------- opening */

typedef struct passphrase_question {
    const char *passphrase;
    bool was_asked;
} passphrase_question;

static int answer_question(char *out, int room, int is_writing, void *ctx) {
    passphrase_question *question = ctx;
    (void)is_writing;
    question->was_asked = true;
    if (question->passphrase == NULL || strlen(question->passphrase) > (size_t)room) {
        return -1;
    }
    const size_t size = strlen(question->passphrase);
    memcpy(out, question->passphrase, size);
    return (int)size;
}

static qn_status parse_pem(const char *path, const char *text, size_t size, const char *passphrase, EVP_PKEY **out,
                           error_context *err) {
    passphrase_question question = {passphrase, false};
    BIO *source = BIO_new_mem_buf(text, (int)size);
    EVP_PKEY *pair = source != NULL ? PEM_read_bio_PrivateKey(source, NULL, answer_question, &question) : NULL;
    BIO_free(source);
    ERR_clear_error();
    if (pair == NULL && question.was_asked) {
        return passphrase == NULL ? FAIL(err, QN_BAD_INPUT, "%s: is sealed; --passphrase-file FILE gives its passphrase", path)
                                  : FAIL(err, QN_BAD_INPUT, "%s: cannot be opened with this passphrase", path);
    }
    if (pair == NULL || EVP_PKEY_get_id(pair) != EVP_PKEY_ED25519) {
        EVP_PKEY_free(pair);
        return FAIL(err, QN_BAD_FILE, "%s: holds no private key of Ed25519 in PEM; quoin key new makes one", path);
    }
    *out = pair;
    return QN_OK;
}

qn_status signing_key_open(const char *path, const char *passphrase, signing_key **out_key, error_context *err) {
    char text[PRIVATE_FILE_SIZE];
    size_t size = 0;
    EVP_PKEY *pair = NULL;
    qn_status status = private_file_read(path, text, &size, err);
    status = status < 0 ? status : parse_pem(path, text, size, passphrase, &pair, err);
    private_file_forget(text, sizeof text);
    if (status < 0) {
        return status;
    }
    signing_key *key = calloc(1, sizeof *key);
    status = key != NULL ? read_public(pair, path, &key->shown, err) : FAIL(err, QN_NO_HOST_MEM, "out of memory");
    if (status < 0) {
        EVP_PKEY_free(pair);
        free(key);
        return status;
    }
    key->pair = pair;
    *out_key = key;
    return QN_OK;
}

void signing_key_close(signing_key *key) {
    if (key != NULL) {
        EVP_PKEY_free(key->pair); /* overwrites it */
        free(key);
    }
}

const public_key *signing_key_public(const signing_key *key) {
    return &key->shown;
}

qn_status signing_key_sign(const signing_key *key, const void *data, size_t size, uint8_t out_signature[SIGNATURE_BYTES],
                           error_context *err) {
    uint8_t signature[SIGNATURE_BYTES];
    size_t length = sizeof signature;
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    const bool is_signed = context != NULL && EVP_DigestSignInit(context, NULL, NULL, NULL, key->pair) == 1 &&
                           EVP_DigestSign(context, signature, &length, data, size) == 1 && length == sizeof signature;
    EVP_MD_CTX_free(context);
    if (!is_signed) {
        return refuse_crypto(err, "the key", "to sign");
    }
    memcpy(out_signature, signature, sizeof signature);
    return QN_OK;
}

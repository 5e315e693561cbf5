package io.kvrelay.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.util.Base64;
import java.util.concurrent.TimeUnit;

/** A self-signed certificate for localhost, made for the moment; its own authority. */
record TestCertificates(Path certificate, Path key) {
  private static final String ALIAS = "test";
  private static final String PASSWORD = "only-for-the-file";

  static TestCertificates create(Path directory) throws Exception {
    Path store = directory.resolve("store.p12");
    Process keytool =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "keytool").toString(),
                "-genkeypair",
                "-alias",
                ALIAS,
                "-keyalg",
                "EC",
                "-groupname",
                "secp256r1",
                "-dname",
                "CN=localhost",
                "-ext",
                "san=dns:localhost,ip:127.0.0.1",
                "-validity",
                "2",
                "-storetype",
                "PKCS12",
                "-keystore",
                store.toString(),
                "-storepass",
                PASSWORD)
            .redirectErrorStream(true)
            .redirectOutput(directory.resolve("keytool.txt").toFile())
            .start();
    assertThat(keytool.waitFor(60, TimeUnit.SECONDS)).isTrue();
    assertThat(keytool.exitValue()).as(Files.readString(directory.resolve("keytool.txt"))).isZero();
    return export(store, directory);
  }

  private static TestCertificates export(Path store, Path directory)
      throws IOException, GeneralSecurityException {
    KeyStore keys = KeyStore.getInstance("PKCS12");
    try (InputStream in = Files.newInputStream(store)) {
      keys.load(in, PASSWORD.toCharArray());
    }
    return new TestCertificates(
        pem(directory.resolve("cert.pem"), "CERTIFICATE", keys.getCertificate(ALIAS).getEncoded()),
        pem(
            directory.resolve("key.pem"),
            "PRIVATE KEY",
            keys.getKey(ALIAS, PASSWORD.toCharArray()).getEncoded()));
  }

  private static Path pem(Path file, String what, byte[] der) throws IOException {
    String text = Base64.getMimeEncoder(64, new byte[] {'\n'}).encodeToString(der);
    return Files.writeString(
        file, "-----BEGIN " + what + "-----\n" + text + "\n-----END " + what + "-----\n");
  }
}

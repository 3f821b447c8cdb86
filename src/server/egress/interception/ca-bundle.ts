import { chmod, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { rootCertificates } from 'node:tls'
import { networkRoot } from '../../sandboxes/sandbox.ts'

/** Bundles of Debian, Fedora, SUSE and Alpine. */
const systemBundles = [
  '/etc/ssl/certs/ca-certificates.crt',
  '/etc/pki/tls/certs/ca-bundle.crt',
  '/etc/ssl/ca-bundle.pem',
  '/etc/ssl/cert.pem',
]

/** Files in the folder of the network: all authorities, and only the one of this network. */
const bundle = 'ca-certificates.pem'
const own = 'authority.pem'

/** Names of the files that `writeBundle` writes. */
export const bundleFiles: readonly string[] = [own, bundle]

/** For OpenSSL, curl, git, npm, Python, Cargo and the AWS tools, for which the file replaces that of the system. */
const replacing = [
  'SSL_CERT_FILE',
  'CURL_CA_BUNDLE',
  'GIT_SSL_CAINFO',
  'npm_config_cafile',
  'REQUESTS_CA_BUNDLE',
  'PIP_CERT',
  'CARGO_HTTP_CAINFO',
  'AWS_CA_BUNDLE',
]

/** Node and Deno add the file to the authorities that they contain. */
const adding = ['NODE_EXTRA_CA_CERTS', 'DENO_CERT']

/** Variables with which programs in the sandbox find the files. */
export const bundleVariables: Readonly<Record<string, string>> = Object.fromEntries([
  ...replacing.map(name => [name, `${networkRoot}/${bundle}`]),
  ...adding.map(name => [name, `${networkRoot}/${own}`]),
])

/** Writes the authorities to files that all users can read. */
export async function writeBundle(folder: string, certificate: string): Promise<void> {
  await writePublic(join(folder, own), certificate)
  await writePublic(join(folder, bundle), `${(await systemAuthorities()).trimEnd()}\n${certificate}`)
}

async function writePublic(path: string, text: string): Promise<void> {
  await writeFile(path, text)
  // The mode of a new file depends on the umask of the server.
  await chmod(path, 0o444)
}

/** Those that Node contains, on a system without a bundle. */
async function systemAuthorities(): Promise<string> {
  for (const path of systemBundles) {
    const text = await readFile(path, 'utf8').catch(() => '')
    if (text.includes('-----BEGIN CERTIFICATE-----')) return text
  }
  return rootCertificates.join('\n')
}

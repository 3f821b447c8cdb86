import { randomBytes } from 'node:crypto'
import { createSecureContext, type SecureContext } from 'node:tls'
import { Recent } from '../../platform/recent.ts'
import { issueCertificate, newKeyPair } from './certificate.ts'

/** Hosts whose certificates are cached. */
const maxHosts = 64
const dayMs = 86_400_000
/** Certificates begin earlier than now, for clocks that are late. */
const earlierMs = dayMs
/** Programs of a session can run for months. */
const authorityMs = 825 * dayMs
const serverMs = 30 * dayMs
/** A cached certificate is replaced at this age. */
const renewalMs = serverMs / 2

/**
 * A certificate authority of one command or program: its private key is in memory only, and only as long as the
 * network of that command or program is open.
 */
export interface Authority {
  /** Its certificate, in PEM. */
  readonly certificate: string
  /** Returns what a TLS server needs to be accepted as `host` by those who trust the authority. */
  contextFor(host: string): SecureContext
}

export async function createAuthority(now: () => number = Date.now): Promise<Authority> {
  const [keys, serverKeys] = await Promise.all([newKeyPair(), newKeyPair()])
  // Names of authorities differ, because clients look issuers up by name in a bundle.
  const issuer = { name: `Switchyard sandbox network ${randomBytes(8).toString('hex')}`, keys }
  const key = serverKeys.privateKey.export({ type: 'pkcs8', format: 'pem' })
  const contexts = new Recent<{ readonly context: SecureContext; readonly until: number }>(maxHosts)

  const dates = (lifeMs: number) => ({ notBefore: new Date(now() - earlierMs), notAfter: new Date(now() + lifeMs) })
  const certificate = issueCertificate(
    { name: issuer.name, publicKey: keys.publicKey, purpose: { type: 'authority' }, ...dates(authorityMs) },
    issuer,
  )

  return {
    certificate,
    contextFor(host) {
      const found = contexts.get(host)
      if (found && found.until > now()) return found.context
      const cert = issueCertificate(
        {
          name: 'Switchyard sandbox network',
          publicKey: serverKeys.publicKey,
          purpose: { type: 'server', host },
          ...dates(serverMs),
        },
        issuer,
      )
      const context = createSecureContext({ key, cert })
      contexts.set(host, { context, until: now() + renewalMs })
      return context
    },
  }
}

import type { RequestListener } from 'node:http'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { after } from 'node:test'
import { issueCertificate, newKeyPair } from '../../../src/server/egress/interception/certificate.ts'

const dayMs = 86_400_000
const days = (count: number) => new Date(Date.now() + count * dayMs)

interface HostOptions {
  /** True for a certificate that ended yesterday. */
  readonly isExpired?: boolean
  /** True for a certificate that no authority has signed. */
  readonly isSelfSigned?: boolean
  /** Name in the certificate, when it is another one. */
  readonly certified?: string
}

/** An authority that stands for those of the public internet, and HTTPS servers on loopback with its certificates. */
export async function tlsForTests() {
  const keys = await newKeyPair()
  const issuer = { name: 'Test authority', keys }
  const dates = { notBefore: days(-10), notAfter: days(10) }
  const ca = issueCertificate(
    { name: issuer.name, publicKey: keys.publicKey, purpose: { type: 'authority' }, ...dates },
    issuer,
  )

  return {
    /** In PEM. */
    ca,
    /** Starts a server for a host; returns its port. It is closed after the last test. */
    async serve(
      host: string,
      listener: RequestListener,
      options: HostOptions = {},
    ): Promise<{ port: number; server: Server }> {
      const own = await newKeyPair()
      const purpose = { type: 'server', host: options.certified ?? host } as const
      const cert = issueCertificate(
        { name: host, publicKey: own.publicKey, purpose, ...dates, ...(options.isExpired && { notAfter: days(-1) }) },
        options.isSelfSigned ? { name: host, keys: own } : issuer,
      )
      const server = createServer({ key: own.privateKey.export({ type: 'pkcs8', format: 'pem' }), cert }, listener)
      await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
      after(() => {
        server.closeAllConnections()
        server.close()
      })
      return { port: (server.address() as AddressInfo).port, server }
    },
  }
}

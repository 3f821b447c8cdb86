import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after } from 'node:test'
import Provider, { type Configuration } from 'oidc-provider'

/** Claims of an account besides its subject. */
export type Claims = Readonly<Record<string, unknown>>

interface Options {
  /** Exact address that the service sends browsers back to. */
  readonly redirectUri: string
  readonly clientId?: string
  readonly clientSecret?: string
}

/** An identity provider on loopback whose one person signs in without a form. */
export interface TestProvider {
  readonly issuer: string
  /** `host:port`, for `outbound.allow`. */
  readonly host: string
  readonly clientId: string
  readonly clientSecret: string
  /** Registers the address that browsers return to. */
  allow(redirectUri: string): void
  /** The account that signs in next. */
  person: { sub: string; claims: Claims }
  /** True: the provider asks with a form, as for a browser. */
  hasForm: boolean
  stop(): Promise<void>
}

/** Starts oidc-provider. It stops with the file. */
export async function startProvider(options: Partial<Options> = {}): Promise<TestProvider> {
  const clientId = options.clientId ?? 'switchyard'
  const clientSecret = options.clientSecret ?? 'canary-of-the-client-secret-0123456789'
  let handle: (request: IncomingMessage, response: ServerResponse) => void = (_request, response) => response.end()
  const server = createServer((request, response) => handle(request, response))
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const host = `127.0.0.1:${port}`
  const issuer = `http://${host}`
  const redirects = options.redirectUri === undefined ? [] : [options.redirectUri]

  const stop = () =>
    new Promise<void>(resolve => {
      server.closeAllConnections()
      server.close(() => resolve())
    })
  const test: TestProvider = {
    issuer,
    host,
    clientId,
    clientSecret,
    allow: uri => {
      redirects.push(uri)
      serve()
    },
    person: { sub: 'account-1', claims: {} },
    hasForm: false,
    stop,
  }
  after(stop)

  /** The provider reads its clients once, so a new address needs a new one. */
  function serve(): void {
    const provider = new Provider(issuer, configuration(test, redirects))
    const callback = provider.callback()
    handle = (request, response) => {
      if (!request.url?.startsWith('/interaction/')) return callback(request, response)
      if (test.hasForm && request.method === 'GET') return sendForm(response)
      const result = { login: { accountId: test.person.sub, remember: false } }
      provider.interactionFinished(request, response, result, { mergeWithLastSubmission: false }).catch(error => {
        response.statusCode = 500
        response.end(String(error))
      })
    }
  }
  serve()
  return test
}

function sendForm(response: ServerResponse): void {
  response.setHeader('content-type', 'text/html')
  response.end('<!doctype html><title>Provider</title><form method="post"><button>Continue</button></form>')
}

const configuration = (test: TestProvider, redirects: readonly string[]): Configuration => ({
  clients: [
    {
      client_id: test.clientId,
      client_secret: test.clientSecret,
      redirect_uris: [...redirects],
      grant_types: ['authorization_code'],
      response_types: ['code'],
    },
  ],
  cookies: { keys: ['cookie key of the test provider'] },
  claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name', 'groups', 'login'] },
  features: { devInteractions: { enabled: false } },
  pkce: { required: () => true },
  interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
  findAccount: (_context, sub) => ({
    accountId: sub,
    claims: () => ({ sub, ...test.person.claims }),
  }),
  async loadExistingGrant(context) {
    const { session, client, provider } = context.oidc
    const grant = new provider.Grant({ accountId: session?.accountId ?? '', clientId: client?.clientId ?? '' })
    grant.addOIDCScope('openid profile email')
    await grant.save()
    return grant
  },
  ttl: { AccessToken: 60, AuthorizationCode: 60, IdToken: 60, Interaction: 300, Session: 60, Grant: 60 },
})

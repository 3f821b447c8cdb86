import assert from 'node:assert/strict'
import type { Service } from '../service/service.ts'

/** Cookies of one site, by name. */
type Jar = Map<string, string>

/** A browser as far as single sign-on needs it: it keeps cookies for each host and follows redirects. */
export interface Visitor {
  /** Cookies that it keeps for the service. */
  readonly cookies: Jar
  /** Begins a sign-in; returns the address at the provider. */
  begin(): Promise<URL>
  /** Follows redirects of the provider up to the address that leads back to the service. */
  follow(url: URL): Promise<URL>
  /** Opens an address of the service, as the browser that comes back from another site. */
  returnTo(url: URL): Promise<{ readonly status: number; readonly text: string }>
  /** Signs in from the first to the last step. */
  signIn(): Promise<{ readonly status: number; readonly text: string }>
  /** Sends a request as a page of the service. */
  send(line: string, body?: object): Promise<{ status: number; json: Record<string, unknown> }>
}

export function visitorOf(service: Pick<Service, 'url'>): Visitor {
  const jars = new Map<string, Jar>()
  const jarOf = ({ host }: URL): Jar => {
    const jar = jars.get(host) ?? new Map<string, string>()
    jars.set(host, jar)
    return jar
  }
  const { origin, host } = new URL(service.url)

  async function request(
    url: URL,
    options: RequestInit & { headers?: Record<string, string> } = {},
  ): Promise<Response> {
    const jar = jarOf(url)
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ')
    const headers = { ...(cookie !== '' && { cookie }), ...options.headers }
    const response = await fetch(url, { ...options, headers, redirect: 'manual' })
    for (const line of response.headers.getSetCookie()) {
      const [pair = '', ...attributes] = line.split(';')
      const [name = '', value = ''] = pair.split(/=(.*)/s)
      const isEnded = value === '' || attributes.some(text => /^\s*max-age=0$/i.test(text))
      if (isEnded) jar.delete(name)
      else jar.set(name, value)
    }
    return response
  }

  const ofPage = { 'sec-fetch-site': 'same-origin', origin, 'x-switchyard-console': '1' }
  const visitor: Visitor = {
    cookies: jarOf(new URL(service.url)),
    async begin() {
      const { status, json } = await visitor.send('POST /api/sign-in/sso')
      assert.equal(status, 200, JSON.stringify(json))
      return new URL(String(json['authorization_url']))
    },
    async follow(start) {
      let url = start
      for (let hops = 0; url.host !== host; hops++) {
        assert.ok(hops < 10, 'too many redirects')
        const response = await request(url)
        const location = response.headers.get('location')
        assert.ok(location, `${response.status} ${await response.text()}`)
        url = new URL(location, url)
      }
      return url
    },
    async returnTo(url) {
      const response = await request(url, { headers: { 'sec-fetch-site': 'cross-site' } })
      return { status: response.status, text: await response.text() }
    },
    signIn: async () => visitor.returnTo(await visitor.follow(await visitor.begin())),
    async send(line, body) {
      const [method = '', path = ''] = line.split(' ')
      const response = await request(new URL(path, service.url), {
        method,
        headers: { ...ofPage, ...(body && { 'content-type': 'application/json' }) },
        ...(body && { body: JSON.stringify(body) }),
      })
      const text = await response.text()
      return { status: response.status, json: text === '' ? {} : (JSON.parse(text) as Record<string, unknown>) }
    },
  }
  return visitor
}

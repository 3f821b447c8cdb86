import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { consoleRoutes as routes } from '../../contract/console.ts'
import { statusOfCode } from '../../contract/error-codes.ts'
import type { OidcSettings } from '../config/config.ts'
import { bind, routeSchema } from '../http/bind.ts'
import type { LoginLimiter } from '../http/login-limiter.ts'
import { fastifyPath } from '../http/paths.ts'
import { escaped, page, pageHeaders } from '../http/public-page.ts'
import type { SignInCookie } from '../http/sign-in-cookie.ts'
import { isDeliberate, isFromOwnPage } from '../http/web-page.ts'
import { AppError, invalid } from '../platform/errors.ts'
import type { Log } from '../platform/log.ts'
import type { People } from '../teams/people.ts'
import { type AttemptCookie, attemptSeconds } from './attempt-cookie.ts'
import { identityOf } from './claims.ts'
import type { IdentityProvider } from './provider.ts'
import type { StateStore } from './state-store.ts'

/** Single sign-on as it is configured. */
export interface SingleSignOn {
  readonly settings: OidcSettings
  readonly provider: IdentityProvider
}

interface Deps {
  /** Undefined without single sign-on. */
  readonly sso: SingleSignOn | undefined
  readonly people: Pick<People, 'signIn'>
  readonly states: StateStore
  readonly attempts: AttemptCookie
  readonly cookie: Pick<SignInCookie, 'set'>
  readonly logins: LoginLimiter
  readonly log: Pick<Log, 'warn'>
}

/** Serves single sign-on. The way back from the provider is bound by hand: it answers with a page. */
export function serveSingleSignOn(app: FastifyInstance, deps: Deps): void {
  const { sso, people, states, attempts, cookie, logins, log } = deps

  bind(app, routes.signInMethods, async () => ({ sso: sso ? { name: sso.settings.name } : null }))

  bind(app, routes.beginSso, async (_input, _caller, { raw, setHeader }) => {
    if (!sso) throw invalid('single sign-on is not configured; set sign_in.oidc in the configuration file')
    if (!isFromOwnPage(raw) || !isDeliberate(raw))
      throw new AppError('forbidden', 'begin the sign-in from a page of this service')
    // Each sign-in may call the provider, and anybody may begin one.
    if (!logins.admits(app.addressOf(raw) ?? ''))
      throw new AppError('rate_limited', 'too many sign-ins from this address; retry after 60 s', {
        headers: { 'retry-after': '60' },
      })
    const { attempt, url } = await sso.provider.begin()
    setHeader('set-cookie', attempts.set(attempt))
    return { authorization_url: url }
  })

  /** Returns the secret of a completed sign-in. */
  async function completed(request: FastifyRequest): Promise<string> {
    if (!sso) throw invalid('single sign-on is not configured')
    const attempt = attempts.attemptIn(request.raw)
    if (!attempt) throw invalid('this browser has not begun a sign-in, or it took too long; begin again')
    const returned = new URLSearchParams(request.url.split('?')[1] ?? '')
    if (returned.get('state') !== attempt.state)
      throw invalid('the answer does not belong to the sign-in of this browser; begin again')
    if (!(await states.claim(attempt.state, attemptSeconds)))
      throw invalid('this sign-in was already completed; begin again')
    const { provider, settings } = sso
    const identity = identityOf(await provider.complete(attempt, returned), settings)
    return people.signIn(identity, {
      hours: settings.sessionHours,
      defaultRole: settings.defaultRole,
      from: { address: app.addressOf(request.raw), requestId: request.id },
    })
  }

  async function answer(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const send = (status: number, html: string) =>
      reply.code(status).headers(pageHeaders).type('text/html; charset=utf-8').serializer(String).send(html)
    try {
      const secret = await completed(request)
      reply.header('set-cookie', [attempts.cleared, cookie.set(secret)])
      return await send(200, signedInPage)
    } catch (error) {
      if (!(error instanceof AppError) || error.code === 'internal') throw error
      log.warn({ err: error, request_id: request.id }, 'single sign-on failed')
      reply.header('set-cookie', attempts.cleared)
      return send(statusOfCode(error.code), failedPage(error.message))
    }
  }

  app.route({
    method: 'GET',
    url: fastifyPath(routes.ssoCallback),
    config: { route: routes.ssoCallback },
    schema: routeSchema(routes.ssoCallback),
    handler: answer,
  })
}

/** Navigates from a page of this service, since browsers send no strict cookie after a way back from another site. */
const signedInPage = page(
  'Signed in',
  '<p><a href="/">Open the console</a></p>',
  '<meta http-equiv="refresh" content="0; url=/">',
)

const failedPage = (reason: string): string =>
  page('Sign-in failed', `<p>${escaped(reason)}</p><p><a href="/">Back to the sign-in page</a></p>`)

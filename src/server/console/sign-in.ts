import type { FastifyInstance } from 'fastify'
import { apiVersion } from '../../contract/api.ts'
import { consoleRoutes, type Me } from '../../contract/console.ts'
import { bind } from '../http/bind.ts'
import type { Caller } from '../http/caller.ts'
import type { CheckKey } from '../http/check-key.ts'
import type { SignInCookie } from '../http/sign-in-cookie.ts'
import { isDeliberate, isFromOwnPage, isLoopbackHost } from '../http/web-page.ts'
import type { SignInKeys } from '../keys/sign-in-keys.ts'
import { invalid } from '../platform/errors.ts'
import type { People } from '../teams/people.ts'

interface Deps {
  readonly people: Pick<People, 'actAs' | 'shown'>
  readonly signInKeys: Pick<SignInKeys, 'close'>
  /** Undefined if authentication is off. */
  readonly checkKey: CheckKey | undefined
  readonly cookie: SignInCookie
}

/** Signs people in to the console. */
export function serveSignIn(app: FastifyInstance, { people, signInKeys, checkKey, cookie }: Deps): void {
  const shown = async ({ principal, role, ownerScope, key }: Caller): Promise<Me> => ({
    principal,
    role,
    owner_id: ownerScope ?? null,
    key_id: key?.id ?? null,
    user: await people.shown({ key, ownerScope }),
    is_authentication_off: checkKey === undefined,
    version: apiVersion,
  })

  bind(app, consoleRoutes.signIn, async ({ body }, _caller, { setHeader, header, raw }) => {
    if (!checkKey) throw invalid('authentication is off on this server; open the console without signing in')
    const caller = await checkKey(body.key, raw)
    const is_remembered = keepsCookies(header('origin'))
    if (is_remembered) setHeader('set-cookie', cookie.set(body.key))
    return { ...(await shown(caller)), is_remembered }
  })
  bind(app, consoleRoutes.signOut, async (_input, _caller, { setHeader, raw }) => {
    setHeader('set-cookie', cookie.cleared)
    const secret = isFromOwnPage(raw) && isDeliberate(raw) ? cookie.keyIn(raw) : undefined
    if (secret !== undefined) await signInKeys.close(secret)
  })
  bind(app, consoleRoutes.me, async (_input, caller) => shown(caller))
  bind(app, consoleRoutes.actAs, async ({ body }, caller, { actor, raw, setHeader }) => {
    const secret = await people.actAs(body.team_id, { caller, actor, secret: cookie.keyIn(raw) })
    setHeader('set-cookie', cookie.set(secret))
    const holder = await checkKey?.(secret, raw)
    if (!holder) throw new Error('the key of a sign-in is not valid right after it was made (bug)')
    return shown(holder)
  })
}

/** True if browsers keep the cookie for a page of this origin. Browsers send the header with every POST request. */
function keepsCookies(origin: string | readonly string[] | undefined): boolean {
  const page = typeof origin === 'string' ? URL.parse(origin) : null
  return page !== null && (page.protocol === 'https:' || isLoopbackHost(page.host))
}

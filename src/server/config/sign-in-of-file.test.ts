import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { OidcBlock } from './file.ts'
import { oidcOfFile } from './sign-in-of-file.ts'
import { signInWarnings } from './warnings.ts'

interface Given {
  readonly publicUrl?: string
  readonly hasMasterKey?: boolean
}

function read(oidc: OidcBlock | undefined, { publicUrl, hasMasterKey = true }: Given = {}) {
  const problems: string[] = []
  const general = publicUrl === undefined ? {} : { general_settings: { public_url: publicUrl } }
  const value = { ...general, ...(oidc && { sign_in: { oidc } }) }
  const settings = oidcOfFile({
    file: { value, place: () => ({ line: 1 }) },
    hasMasterKey,
    report: text => void problems.push(text),
  })
  return { settings, problems }
}

const least = { issuer: 'https://login.example.com', client_id: 'switchyard' }

test('issuer and client are enough; the rest has defaults', () => {
  assert.deepEqual(read(least), {
    problems: [],
    settings: {
      issuer: 'https://login.example.com',
      name: 'single sign-on',
      clientId: 'switchyard',
      clientSecret: undefined,
      clientSecretVaultKey: undefined,
      scopes: ['openid', 'profile', 'email'],
      claims: { owner: undefined, email: 'email', name: 'name', groups: undefined },
      allowedDomains: undefined,
      roles: undefined,
      defaultRole: 'member',
      sessionHours: 12,
    },
  })
  assert.equal(read(undefined).settings, undefined)
})

const wrong: readonly (readonly [block: OidcBlock, problem: RegExp, given?: Given])[] = [
  [{ client_id: 'x' }, /issuer is required/],
  [{ issuer: least.issuer }, /client_id is required/],
  [{ ...least, issuer: 'http://login.example.com' }, /issuer must be an https:\/\/ address/],
  [{ ...least, issuer: 'https://ada:secret@login.example.com' }, /issuer must be/],
  [{ ...least, issuer: 'https://login.example.com?a=b' }, /issuer must be/],
  [{ ...least, client_secret: 'a', client_secret_vault_key: 'B' }, /exclude each other/],
  [{ ...least, scopes: ['email'] }, /scopes must contain openid/],
  [{ ...least, roles: { admin: ['ops'] } }, /roles requires claims.groups/],
  [{ ...least, session_hours: 721 }, /session_hours must be at most 720/],
  [{ ...least, default_role: 'viewr' }, /did you mean viewer/],
  [least, /requires general_settings.master_key/, { hasMasterKey: false }],
  [least, /public_url to start with https/, { publicUrl: 'http://switchyard.example.com' }],
]
for (const [block, problem, given] of wrong)
  test(`${JSON.stringify(block)} is reported: ${problem.source}`, () => {
    const { problems } = read(block, given)
    assert.equal(problems.length, 1, problems.join())
    assert.match(problems[0] ?? '', problem)
  })

test('plain http is for an issuer and an address on loopback only', () => {
  for (const host of ['localhost:8080', '127.0.0.1:8080', '[::1]:8080'])
    assert.deepEqual(read({ ...least, issuer: `http://${host}` }, { publicUrl: `http://${host}` }).problems, [])
})

test('a provider that lets everybody in, or that is blocked, is a warning at the start', () => {
  const warningsFor = (block: OidcBlock) => signInWarnings(read(block).settings, [])
  assert.match(warningsFor(least).join(), /everybody with an account at the identity provider can sign in as member/)
  assert.deepEqual(warningsFor({ ...least, allowed_domains: ['example.com'] }), [])
  assert.match(warningsFor({ ...least, issuer: 'https://10.0.0.1', allowed_domains: ['a'] }).join(), /^sign_in.oidc: /)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AppError } from '../platform/errors.ts'
import { createSessionSecrets } from './session-secrets.ts'

/** Entries by owner; that of `` is global. */
const entries: Readonly<Record<string, string>> = {
  'ada OWN': 'own-value\n',
  ' SHARED': 'shared-value',
  'ada BLANK': ' ',
}
const vault = {
  value: async ({
    name,
    ownerId = '',
    mayBeGlobal = true,
  }: {
    name: string
    ownerId?: string | undefined
    mayBeGlobal?: boolean
  }) => {
    if (name === 'SEALED') throw new AppError('unavailable', 'cannot decrypt')
    return entries[`${ownerId} ${name}`] ?? (mayBeGlobal ? entries[` ${name}`] : undefined)
  },
}
const secrets = createSessionSecrets({ vault })
const ofAdmin = { reachesGlobalVault: true } as const
const configOf = (...keys: string[]) => ({
  network: { type: 'limited', secrets: keys.map(vault_key => ({ vault_key, host: 'a.example', header: 'x-a' })) },
})

test('L3: a session reads the entries of its owner, and global ones only for agents that no limited key set up', async () => {
  const read = (by: { reachesGlobalVault?: true }, owner_id: string, name: string) =>
    secrets.readerFor({ ...by, owner_id })(name)
  assert.equal(await read({}, 'ada', 'OWN'), 'own-value\n')
  assert.equal(await read(ofAdmin, 'ada', 'OWN'), 'own-value\n')
  assert.equal(await read(ofAdmin, 'bo', 'OWN'), undefined)
  assert.equal(await read(ofAdmin, 'ada', 'SHARED'), 'shared-value')
  assert.equal(await read(ofAdmin, '', 'SHARED'), 'shared-value')
  assert.equal(await read({}, 'ada', 'SHARED'), undefined)
})

test('a changed vault entry counts after 5 s, and a failure is not cached', async () => {
  let [now, reads, value]: [number, number, string | undefined] = [0, 0, 'old']
  const { readerFor } = createSessionSecrets({
    vault: {
      value: async () => {
        reads++
        if (value === undefined) throw new AppError('unavailable', 'cannot decrypt')
        return value
      },
    },
    nowMs: () => now,
  })
  const read = readerFor({ owner_id: 'ada', ...ofAdmin })
  assert.deepEqual([await read('A'), await read('A'), reads], ['old', 'old', 1])
  value = undefined
  now = 5_000
  await assert.rejects(read('A'), /cannot decrypt/)
  value = 'new'
  assert.equal(await read('A'), 'new')
})

test('the values of a session are those that requests would get', async () => {
  const config = configOf('OWN', 'SHARED', 'OWN', 'NONE', 'BLANK', 'SEALED')
  const session = { owner_id: 'ada', config }
  assert.deepEqual(await secrets.valuesFor({ ...session, ...ofAdmin }), ['own-value', 'shared-value'])
  assert.deepEqual(await secrets.valuesFor(session), ['own-value'])
  assert.deepEqual(await secrets.valuesFor({ ...session, config: {}, ...ofAdmin }), [])
})

test('a write that names an entry which its agent would not have is a problem of the field', async () => {
  const problem = async (name: string, mayBeGlobal: boolean) => {
    const found = await secrets.problemOf(configOf('OWN', name), { ownerId: 'ada', mayBeGlobal })
    return found && `${found.field} ${found.problem}`
  }
  assert.equal(await problem('SHARED', true), undefined)
  const field = 'config.network.secrets[1].vault_key'
  assert.equal(
    await problem('SHARED', false),
    `${field} SHARED is not a vault entry of owner ada; store it with POST /api/vault`,
  )
  assert.equal(
    await problem('NONE', true),
    `${field} NONE is not a vault entry of owner ada, and not a global one; store it with POST /api/vault`,
  )
  assert.match((await problem('BLANK', false)) ?? '', /BLANK is not/)
})

import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { chmod, mkdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { dockerForTests, lackEngine } from '../../../test/support/docker/docker-for-tests.ts'
import { fakeClusterFor } from '../../../test/support/kubernetes/fake-cluster-for.ts'
import { eventually } from '../../../test/support/service/eventually.ts'
import { lack } from '../../../test/support/service/lack.ts'
import type { SandboxDriverName } from './sandbox.ts'
import { createSandboxes } from './sandboxes.ts'
import { quiet, sandboxesForTests, temporaryFolder } from './sandboxes-for-tests.ts'

const needsBubblewrap = { skip: lack('bubblewrap') }

const lackOf = (driver: SandboxDriverName): string | false => {
  if (driver === 'docker') return lackEngine
  return driver !== 'virtual' && lack('bubblewrap')
}

/** The containers of the fake engine of Docker and of the fake cluster are bubblewrap sandboxes. */
const settingsOf = {
  bubblewrap: {},
  docker: async () => ({ settings: (await dockerForTests()).settings }),
  kubernetes: fakeClusterFor,
  virtual: {},
}
const sandboxesOf = (driver: SandboxDriverName) => sandboxesForTests(driver, settingsOf[driver])

for (const driver of ['bubblewrap', 'docker', 'kubernetes', 'virtual'] as const) {
  test(`${driver}: a workspace persists after its sandbox, private to its user, until it is removed`, {
    skip: lackOf(driver),
  }, async () => {
    const sandboxes = await sandboxesOf(driver)
    const sandbox = await sandboxes.open('ses_1')
    assert.equal(sandbox.driver, driver)
    assert.equal(await sandboxes.open('ses_1'), sandbox)
    await sandbox.files.write('a/b', 'one')
    assert.equal((await sandbox.exec({ command: 'cat a/b; echo two > a/c' })).output, 'one')
    await sandbox.dispose()
    assert.equal((await sandbox.exec({ command: 'echo late' })).outcome, 'cancelled')
    const again = await sandboxes.open('ses_1')
    assert.equal((await again.exec({ command: 'cat a/c' })).output, 'two\n')
    const folder = join(sandboxes.workspacesDir, 'ses_1')
    assert.equal((await stat(folder)).mode & 0o777, 0o700)
    await sandboxes.remove('ses_1')
    await sandboxes.remove('ses_1')
    assert(!existsSync(folder))
  })

  test(`${driver}: file tools and commands can change each other’s files`, {
    skip: lackOf(driver),
  }, async () => {
    const sandbox = await (await sandboxesOf(driver)).open('ses_1')
    await sandbox.files.write('made/by/tool', 'one\n')
    const command =
      'echo two >> made/by/tool && echo three > made/by/command && mkdir made/more && echo x > made/more/y'
    assert.equal((await sandbox.exec({ command })).exitCode, 0)
    await sandbox.files.write('made/by/command', 'four\n')
    await sandbox.files.write('made/more/z', 'five\n')
    assert.equal(
      (await sandbox.exec({ command: 'cat made/by/* made/more/z && rm -r made' })).output,
      'four\none\ntwo\nfive\n',
    )
  })

  test(`${driver}: removing a session kills its commands at once`, {
    skip: lackOf(driver),
  }, async () => {
    const sandboxes = await sandboxesOf(driver)
    const sandbox = await sandboxes.open('ses_1')
    const running = sandbox.exec({ command: 'echo x > started; sleep 100' })
    const folder = join(sandboxes.workspacesDir, 'ses_1')
    await eventually(async () => existsSync(join(folder, 'started')))
    await sandboxes.remove('ses_1')
    assert.equal((await running).outcome, 'cancelled')
    assert(!existsSync(folder))
  })
}

for (const driver of ['bubblewrap', 'docker'] as const) {
  test(`${driver}: a workspace is removed even when a command made that difficult`, {
    skip: lackOf(driver),
  }, async () => {
    const sandboxes = await sandboxesOf(driver)
    const sandbox = await sandboxes.open('ses_1')
    const deep = 'for i in $(seq 60); do mkdir -p $(printf "d%.0s" $(seq 100)) && cd d* || exit 1; done; cd /workspace'
    const locked = 'mkdir -p locked/below; touch locked/below/file; chmod 000 locked/below locked'
    assert.equal((await sandbox.exec({ command: `${deep}; ${locked}` })).exitCode, 0)
    await sandboxes.remove('ses_1')
    assert(!existsSync(join(sandboxes.workspacesDir, 'ses_1')))
  })

  test(`${driver}: commands that the kernel cannot accept are rejected with a reason`, {
    skip: lackOf(driver),
  }, async () => {
    const sandbox = await (await sandboxesOf(driver)).open('ses_1')
    await assert.rejects(sandbox.exec({ command: 'echo \0' }), { code: 'invalid_request' })
    await assert.rejects(sandbox.exec({ command: `: ${'x'.repeat(200_000)}` }), { code: 'invalid_request' })
    assert.equal((await sandbox.exec({ command: `: ${'x'.repeat(99_000)}` })).exitCode, 0)
  })
}

test('a workspace of another driver remains usable', needsBubblewrap, async () => {
  const workspacesDir = await temporaryFolder()
  const before = await createSandboxes({ workspacesDir, log: quiet, prefer: 'virtual' })
  await (await before.open('ses_1')).files.write('a/b', 'one\n')
  await before.stopAll()
  const after = await createSandboxes({ workspacesDir, log: quiet, prefer: 'bubblewrap' })
  const sandbox = await after.open('ses_1')
  assert.equal((await sandbox.exec({ command: 'echo two >> a/b; cat a/b' })).output, 'one\ntwo\n')
  await after.stopAll()
})

test('a session id that is a path is rejected', async () => {
  const sandboxes = await sandboxesForTests('virtual')
  await mkdir(join(sandboxes.workspacesDir, 'keep'))
  for (const id of ['', '.', '..', '../x', 'a/b', '/etc', 'a\0', '-rf', 'x'.repeat(200)]) {
    await assert.rejects(sandboxes.open(id), { code: 'invalid_request' }, id)
    await assert.rejects(sandboxes.remove(id), { code: 'invalid_request' }, id)
  }
  assert(existsSync(join(sandboxes.workspacesDir, 'keep')))
})

test('a failed open can be retried', async () => {
  const workspacesDir = join(await temporaryFolder(), 'file')
  await writeFile(workspacesDir, '')
  const sandboxes = await createSandboxes({ workspacesDir, log: quiet, prefer: 'virtual' })
  await assert.rejects(sandboxes.open('ses_1'))
  await assert.rejects(sandboxes.open('ses_1'))
  await chmod(workspacesDir, 0o600)
})

test('the best driver of this machine is selected and described', needsBubblewrap, async () => {
  const sandboxes = await createSandboxes({ workspacesDir: await temporaryFolder(), log: quiet })
  assert.equal(sandboxes.driver, 'bubblewrap')
  assert.match(sandboxes.detail, /no network/)
})

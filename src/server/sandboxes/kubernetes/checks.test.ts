import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import { test } from 'node:test'
import { startCluster } from '../../../../test/support/kubernetes/driver-rig.ts'
import type { FakeApiServer } from '../../../../test/support/kubernetes/fake-api-server.ts'
import { lack } from '../../../../test/support/service/lack.ts'
import { temporaryFolder } from '../sandboxes-for-tests.ts'

const when = { skip: lack('bubblewrap') }

for (const [name, prepare, expected] of [
  [
    'agent-sandbox',
    ({ state }) => {
      state.hasSandboxApi = false
    },
    /no API agents\.x-k8s\.io\/v1beta1; install agent-sandbox/,
  ],
  [
    'rights',
    ({ state }) => void state.denied.add('create sandboxes').add('get pods/exec'),
    /lacks rights in namespace agents: create sandboxes\.agents\.x-k8s\.io, get pods\/exec/,
  ],
  [
    'the claim',
    ({ cluster }) => cluster.drop('persistentvolumeclaims', 'workspaces'),
    /claim workspaces does not exist/,
  ],
  [
    'a bound claim',
    ({ cluster }) =>
      void cluster.store('persistentvolumeclaims', { metadata: { name: 'workspaces' }, status: { phase: 'Pending' } }),
    /not bound: Pending/,
  ],
  ['the token', ({ state }) => void state.tokens.clear(), /Unauthorized \(401\)/],
  ['the token file', ({ files }) => rm(files.tokenFile), /cannot read .*token/],
  [
    'the policy',
    ({ cluster }) =>
      void cluster.store('networkpolicies', {
        metadata: { name: 'switchyard-sandboxes' },
        spec: { podSelector: {}, policyTypes: ['Ingress'] },
      }),
    /does not deny all connections/,
  ],
] as const satisfies readonly (readonly [string, (fake: FakeApiServer) => unknown, RegExp])[]) {
  test(`a start without what it needs fails and names it: ${name}`, when, async () => {
    const { fake, open } = await startCluster()
    await prepare(fake)
    await assert.rejects(open(), { code: 'unavailable', message: expected })
    assert.equal(fake.cluster.list('sandboxes').length, 0)
  })
}

test('a start in a cluster that ignores network policies fails', when, async () => {
  const { open } = await startCluster({ isIsolated: false })
  await assert.rejects(open(), { code: 'unavailable', message: /has no effect: a sandbox reached 127\.0\.0\.1/ })
})

test('a start with another volume than that of the workspaces folder fails', when, async () => {
  const { open } = await startCluster()
  const workspacesDir = await temporaryFolder()
  await assert.rejects(open({ workspacesDir }), { code: 'unavailable', message: /workspaces\.claim and sub_path/ })
})

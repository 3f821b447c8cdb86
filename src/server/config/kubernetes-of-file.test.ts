import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { ConfigError, loadConfig } from './load.ts'

const folder = mkdtempSync(join(tmpdir(), 'switchyard-sandbox-'))
test.after(() => rmSync(folder, { recursive: true }))

const inCluster = { KUBERNETES_SERVICE_HOST: 'fd00::1', KUBERNETES_SERVICE_PORT: '443' }

function load(yaml: string, env: Readonly<Record<string, string>> = {}) {
  const configFile = join(folder, 'switchyard.yaml')
  writeFileSync(configFile, yaml)
  return loadConfig({ env: { GATEWAY_MASTER_KEY: 'a-key-of-sixteen-letters', ...env }, overrides: { configFile } })
}

const problemsOf = (yaml: string, env = {}): string[] => {
  try {
    load(yaml, env)
    return []
  } catch (error) {
    assert.ok(error instanceof ConfigError)
    return error.message.split('\n').map(line => line.replace(/^.*yaml:\d+: /, ''))
  }
}

const minimal =
  'sandbox: {driver: kubernetes, image: "debian:13", kubernetes: {namespace: agents, workspaces: {claim: work}}}'

test('inside a cluster the API server, the token and the certificates are those of the pod', () => {
  assert.deepEqual(load(minimal, inCluster).sandbox.kubernetes, {
    namespace: 'agents',
    claim: 'work',
    subPath: undefined,
    serviceAccount: undefined,
    runtimeClass: undefined,
    nodeSelector: {},
    pullSecrets: [],
    api: {
      server: 'https://[fd00::1]:443',
      tokenFile: '/var/run/secrets/kubernetes.io/serviceaccount/token',
      caFile: '/var/run/secrets/kubernetes.io/serviceaccount/ca.crt',
    },
  })
})

test('every setting of the cluster is read', () => {
  const { kubernetes, image } = load(`
sandbox:
  driver: kubernetes
  image: registry.example.com/agents:1
  kubernetes:
    namespace: agents
    workspaces: {claim: work, sub_path: data/workspaces}
    service_account: sandbox
    runtime_class: gvisor
    node_selector: {pool: agents}
    pull_secrets: [registry]
    api: {server: "https://10.0.0.1:6443", token_file: /run/token, ca_file: /run/ca.crt}`).sandbox
  assert.equal(image, 'registry.example.com/agents:1')
  assert.deepEqual(kubernetes, {
    namespace: 'agents',
    claim: 'work',
    subPath: 'data/workspaces',
    serviceAccount: 'sandbox',
    runtimeClass: 'gvisor',
    nodeSelector: { pool: 'agents' },
    pullSecrets: ['registry'],
    api: { server: 'https://10.0.0.1:6443', tokenFile: '/run/token', caFile: '/run/ca.crt' },
  })
})

const cluster = (more: string) => `${minimal.slice(0, -2)}, ${more}}}`

for (const [name, yaml, expected] of [
  [
    'nothing but the driver',
    'sandbox: {driver: kubernetes}',
    [
      'sandbox.image is required with driver kubernetes, for example debian:trixie',
      'sandbox.kubernetes.namespace is required',
      'sandbox.kubernetes.workspaces.claim is required: the volume with the workspaces folder',
      'sandbox.kubernetes.api.server is required outside of a cluster',
    ],
  ],
  [
    'settings of another driver',
    'sandbox: {driver: bubblewrap, image: debian, kubernetes: {namespace: agents}}',
    [
      'sandbox.image needs driver docker or kubernetes; the driver is bubblewrap',
      'sandbox.kubernetes needs driver kubernetes; the driver is bubblewrap',
    ],
  ],
  [
    'a path that leads out',
    minimal.replace('claim: work', 'claim: work, sub_path: ../other'),
    ['sandbox.kubernetes.workspaces.sub_path must be a relative path without ..'],
  ],
  [
    'plain HTTP',
    cluster('api: {server: "http://10.0.0.1"}'),
    ['sandbox.kubernetes.api.server must be an https:// address'],
  ],
  [
    'a name that is no name',
    cluster('runtime_class: "g V"'),
    ['sandbox.kubernetes.runtime_class must be the name of an object: a-z, 0-9, - and .'],
  ],
] as const) {
  test(`a problem names the field: ${name}`, () => {
    const env = name === 'nothing but the driver' ? {} : inCluster
    assert.deepEqual(problemsOf(yaml, env), expected)
  })
}

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { Role } from 'kubernetes-models/rbac.authorization.k8s.io/v1/Role'
import { parseAllDocuments } from 'yaml'
import { problemOfPolicy, problemOfSandbox, problemOfSecurity } from '../../../../test/support/kubernetes/validation.ts'
import type { KubernetesSandbox } from '../../config/agent-settings.ts'
import { recordOf } from '../../platform/json.ts'
import { sandboxLimits } from '../sandbox.ts'
import { denyAllPolicy, sandboxObject } from './objects.ts'
import { podStateOf } from './pod-state.ts'
import { neededRights, type Right } from './rights.ts'

const minimal: KubernetesSandbox = {
  namespace: 'agents',
  claim: 'work',
  subPath: undefined,
  serviceAccount: undefined,
  runtimeClass: undefined,
  nodeSelector: {},
  pullSecrets: [],
  api: { server: 'https://10.0.0.1', tokenFile: '/token', caFile: '/ca' },
}
const complete: KubernetesSandbox = {
  ...minimal,
  subPath: 'data/workspaces',
  serviceAccount: 'sandbox',
  runtimeClass: 'gvisor',
  nodeSelector: { 'example.com/pool': 'agents' },
  pullSecrets: ['registry'],
}

const objectOf = (settings: KubernetesSandbox, home?: string) =>
  sandboxObject(
    {
      name: 'switchyard-0123456789abcdef',
      owner: { host: '0123456789abcdef', process: '7-99' },
      workspace: 'fedcba9876543210',
      folder: 'ses_1',
      home,
      image: 'debian:13',
      expires: new Date('2026-11-26T10:00:00.123Z'),
    },
    { settings, limits: { ...sandboxLimits, cpus: 0.5 }, user: 65_533 },
  )

for (const [name, object] of [
  ['of a command', objectOf(minimal)],
  ['of a program', objectOf(minimal, 'ses_1.home')],
  ['with every setting', objectOf(complete, 'ses_1.home')],
] as const) {
  test(`a Sandbox ${name} fits the schemas of Kubernetes and the pod security standard "restricted"`, () => {
    assert.equal(problemOfSandbox(object), undefined)
    assert.equal(problemOfSecurity(object.spec.podTemplate.spec), undefined)
  })
}

test('a pod has exactly the limits, mounts and rights of a sandbox', () => {
  const { spec, metadata } = objectOf(complete, 'ses_1.home')
  const pod = spec.podTemplate.spec
  const [container] = pod.containers
  assert.deepEqual(
    container?.volumeMounts.map(mount => [mount.mountPath, 'subPath' in mount ? mount.subPath : undefined]),
    [
      ['/workspace', 'data/workspaces/ses_1'],
      ['/home/agent', 'data/workspaces/ses_1.home'],
      ['/tmp', undefined],
      ['/dev/shm', undefined],
    ],
  )
  assert.deepEqual(container?.resources.limits, { cpu: '500m', memory: '2147483648', 'ephemeral-storage': '64Mi' })
  assert.deepEqual(
    [
      pod.automountServiceAccountToken,
      pod.enableServiceLinks,
      pod.restartPolicy,
      spec.shutdownTime,
      spec.shutdownPolicy,
    ],
    [false, false, 'Never', '2026-11-26T10:00:00Z', 'Delete'],
  )
  assert.deepEqual(spec.podTemplate.metadata.labels, metadata.labels)
  for (const [label, value] of Object.entries(denyAllPolicy().spec.podSelector.matchLabels))
    assert.equal(recordOf(metadata.labels)[label], value)
})

test('the network policy fits the schema', () => assert.equal(problemOfPolicy(denyAllPolicy()), undefined))

test('the validation finds what an API server rejects', () => {
  const object = objectOf(minimal)
  const withPod = (change: object) => ({
    ...object,
    spec: { ...object.spec, podTemplate: { spec: { ...object.spec.podTemplate.spec, ...change } } },
  })
  assert.match(
    problemOfSandbox({ ...object, spec: { ...object.spec, shutdownAfter: 5 } }) ?? '',
    /additional properties/,
  )
  assert.match(problemOfSandbox(withPod({ hostNetworks: true })) ?? '', /unknown field "spec\.hostNetworks"/)
  assert.match(problemOfSandbox(withPod({ containers: [{ name: 'a', image: 5 }] })) ?? '', /image must be string/)
  assert.match(
    problemOfSandbox(withPod({ securityContext: { seccompProfile: { kind: 'x' } } })) ?? '',
    /seccompProfile/,
  )
  assert.equal(problemOfSecurity({ containers: [] }), 'runAsNonRoot')
})

test('the documented Role is valid and grants exactly the rights that the driver checks', () => {
  const page = readFileSync(new URL('../../../../docs/sandboxes-kubernetes.md', import.meta.url), 'utf8')
  const [, yaml = ''] = /```yaml\n(apiVersion[\s\S]*?)```/.exec(page) ?? []
  const role = parseAllDocuments(yaml)
    .map(document => document.toJS())
    .find(({ kind }) => kind === 'Role')
  new Role(role).validate()
  const granted = role.rules.flatMap((rule: { apiGroups: string[]; resources: string[]; verbs: string[] }) =>
    rule.verbs.map(verb => `${verb} ${rule.resources[0]}.${rule.apiGroups[0]}`),
  )
  const nameOf = ({ verb, resource, subresource, group }: Right) =>
    `${verb} ${resource}${subresource ? `/${subresource}` : ''}.${group}`
  assert.deepEqual(granted.toSorted(), neededRights.map(nameOf).toSorted())
})

const container = (state: object, ready = false) => ({ containerStatuses: [{ name: 'sandbox', ready, state }] })

for (const [guarantee, status, expected] of [
  ['a new pod is starting', { phase: 'Pending' }, { kind: 'starting', reason: 'Pending' }],
  [
    'a pod without a node is starting, with the reason of the scheduler',
    {
      phase: 'Pending',
      conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: 'no node' }],
    },
    { kind: 'starting', reason: 'Unschedulable: no node' },
  ],
  [
    'a container that is being created is starting',
    { phase: 'Pending', ...container({ waiting: { reason: 'ContainerCreating' } }) },
    { kind: 'starting', reason: 'ContainerCreating' },
  ],
  [
    'an image that cannot be pulled is broken',
    { phase: 'Pending', ...container({ waiting: { reason: 'ImagePullBackOff', message: 'not\nfound' } }) },
    { kind: 'broken', reason: 'ImagePullBackOff: not found' },
  ],
  ['a ready container is running', { phase: 'Running', ...container({ running: {} }, true) }, { kind: 'running' }],
  [
    'an evicted pod has ended, with the reason of the pod',
    {
      phase: 'Failed',
      reason: 'Evicted',
      message: 'low on disk',
      ...container({ terminated: { exitCode: 137, reason: 'Error' } }),
    },
    { kind: 'ended', reason: 'Evicted: low on disk' },
  ],
  [
    'a container out of memory has ended, with its reason',
    { phase: 'Failed', ...container({ terminated: { exitCode: 137, reason: 'OOMKilled' } }) },
    { kind: 'ended', reason: 'OOMKilled' },
  ],
  [
    'a container without a reason has ended, with its exit code',
    { phase: 'Succeeded', ...container({ terminated: { exitCode: 0 } }) },
    { kind: 'ended', reason: 'exit code 0' },
  ],
  ['a status of garbage is starting', { phase: 7, containerStatuses: 'x' }, { kind: 'starting', reason: 'no status' }],
] as const) {
  test(guarantee, () => assert.deepEqual(podStateOf({ status }), expected))
}

test('a pod that is being deleted is broken, even when it still runs', () => {
  const status = { phase: 'Running', ...container({ running: {} }, true) }
  const pod = { metadata: { deletionTimestamp: '2026-11-26T10:00:00Z' }, status }
  assert.deepEqual(podStateOf(pod), { kind: 'broken', reason: 'deleted' })
})

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { renderChart } from '../../scripts/render-chart.ts'
import { type Json, recordOf, recordsOf } from '../../src/server/platform/json.ts'
import { objectsIn, problemOfManifest } from '../support/kubernetes/manifests.ts'
import { problemOfSecurity } from '../support/kubernetes/validation.ts'

const chart = join(import.meta.dirname, '..', '..', 'deploy', 'helm', 'switchyard')
const objects = objectsIn(Object.values(renderChart(chart)).join('---\n'))

const ofKind = (kind: string): Json[] => objects.filter(object => object['kind'] === kind)
const at = (value: unknown, ...path: readonly string[]): unknown =>
  path.reduce((inner, key) => recordOf(inner)[key], value)
const nameOf = (object: Json): string => String(at(object, 'metadata', 'name'))
const deployments = ofKind('Deployment').map(object => ({
  name: nameOf(object),
  object,
  pod: recordOf(at(object, 'spec', 'template', 'spec')),
  labels: recordOf(at(object, 'spec', 'template', 'metadata', 'labels')),
}))

const matches = (selector: unknown, labels: Json): boolean =>
  Object.entries(recordOf(selector)).every(([name, value]) => labels[name] === value)

for (const object of objects)
  test(`Kubernetes accepts ${object['kind']} ${nameOf(object)}`, async () => {
    assert.equal(await problemOfManifest(object), undefined)
  })

test('the chart has one Deployment for each role', () => {
  const roles = deployments.map(({ pod }) => {
    const [container] = recordsOf(pod['containers'])
    return recordsOf(container?.['env']).find(({ name }) => name === 'SWITCHYARD_ROLE')?.['value']
  })
  assert.deepEqual(roles, ['api', 'worker'])
})

for (const { name, object, pod, labels } of deployments) {
  test(`pods of ${name} fit the pod security standard restricted and have a read-only root`, () => {
    assert.equal(problemOfSecurity(pod), undefined)
    const [container] = recordsOf(pod['containers'])
    assert.equal(at(container, 'securityContext', 'readOnlyRootFilesystem'), true)
    assert.equal(pod['automountServiceAccountToken'], false)
  })

  test(`pods of ${name} are selected, spread, protected by a budget and a policy, and scaled`, () => {
    assert.ok(matches(at(object, 'spec', 'selector', 'matchLabels'), labels))
    for (const spread of recordsOf(pod['topologySpreadConstraints']))
      assert.ok(matches(at(spread, 'labelSelector', 'matchLabels'), labels))
    const budgets = ofKind('PodDisruptionBudget').filter(budget =>
      matches(at(budget, 'spec', 'selector', 'matchLabels'), labels),
    )
    assert.equal(budgets.length, 1)
    const directions = ofKind('NetworkPolicy')
      .filter(policy => matches(at(policy, 'spec', 'podSelector', 'matchLabels'), labels))
      .flatMap(policy => at(policy, 'spec', 'policyTypes'))
    assert.deepEqual(directions.sort(), ['Egress', 'Ingress'])
    const scaled = ofKind('HorizontalPodAutoscaler').map(scaler => at(scaler, 'spec', 'scaleTargetRef', 'name'))
    assert.ok(scaled.includes(name))
    assert.equal(at(object, 'spec', 'replicas'), undefined, 'an upgrade would undo what the autoscaler did')
  })

  test(`${name} has time to drain before Kubernetes kills it`, () => {
    const [container] = recordsOf(pod['containers'])
    const drain = recordsOf(container?.['env']).find(entry => entry['name'] === 'SWITCHYARD_DRAIN_DELAY_MS')?.['value']
    const [, preStop] = at(container, 'lifecycle', 'preStop', 'exec', 'command') as [string, string]
    const handOverSeconds = 30
    const needed = Number(preStop) + Number(drain) / 1000 + handOverSeconds
    assert.ok(Number(pod['terminationGracePeriodSeconds']) > needed, `more than ${needed} s`)
  })

  test(`${name} mounts only volumes that it has, and probes a port that it names`, () => {
    const volumes = recordsOf(pod['volumes']).map(volume => volume['name'])
    const [container] = recordsOf(pod['containers'])
    for (const mount of recordsOf(container?.['volumeMounts'])) assert.ok(volumes.includes(mount['name']))
    const ports = recordsOf(container?.['ports']).map(port => port['name'])
    for (const probe of ['startupProbe', 'readinessProbe', 'livenessProbe'])
      assert.ok(ports.includes(at(container, probe, 'httpGet', 'port')), probe)
  })
}

test('the service selects the pods of the role api alone', () => {
  const selector = at(ofKind('Service')[0], 'spec', 'selector')
  assert.deepEqual(
    deployments.filter(({ labels }) => matches(selector, labels)).map(({ name }) => name),
    ['switchyard-api'],
  )
})

test('values change what is rendered, and an unknown value fails', () => {
  const { 'api.yaml': api = '' } = renderChart(chart, { image: { reference: 'example.com/other@sha256:abc' } })
  assert.match(api, /image: example\.com\/other@sha256:abc/)
  assert.doesNotMatch(Object.values(renderChart(chart)).join(''), /\{\{/)
})

test('a wrong manifest is found', async () => {
  const [deployment] = ofKind('Deployment')
  assert.ok(deployment)
  const spec = recordOf(deployment['spec'])
  const template = recordOf(spec['template'])
  const pod = { ...recordOf(template['spec']), terminationGracePeriod: 60 }
  const wrong = { ...deployment, spec: { ...spec, template: { ...template, spec: pod } } }
  assert.match(String(await problemOfManifest(wrong)), /unknown field .*terminationGracePeriod/)
})

import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { parse } from 'yaml'
import { type Json, listOf, recordOf } from '../../src/server/platform/json.ts'

const root = join(import.meta.dirname, '..', '..')
const folder = join(root, 'deploy')
const text = readFileSync(join(folder, 'compose.yaml'), 'utf8')
const file = recordOf(parse(text, { merge: true }))
const services = Object.entries(recordOf(file['services'])).map(([name, service]) => ({
  name,
  service: recordOf(service),
}))

const serviceOf = (name: string): Json => recordOf(recordOf(file['services'])[name])

test('every variable of the compose file is in the example of the environment', () => {
  const example = readFileSync(join(root, '.env.example'), 'utf8')
  for (const [, name = ''] of text.matchAll(/\$\{([A-Z0-9_]+)/g)) {
    if (name.endsWith('_CONFIG_FILE')) continue
    assert.match(example, new RegExp(`^#${name}=$`, 'm'), name)
  }
})

test('every file, volume, network and service that the compose file names exists', () => {
  for (const { name, service } of services) {
    for (const mount of listOf(service['volumes'])) {
      const source =
        String(mount)
          .replace(/^\$\{\w+:-([^}]+)\}/, '$1')
          .split(':')[0] ?? ''
      const exists = source.startsWith('.') ? existsSync(join(folder, source)) : source in recordOf(file['volumes'])
      assert.ok(exists, `${name}: ${source}`)
    }
    for (const network of listOf(service['networks'])) assert.ok(String(network) in recordOf(file['networks']))
    const { context, dockerfile } = recordOf(service['build'])
    if (context) assert.ok(existsSync(join(folder, String(context), String(dockerfile))), name)
  }
})

test('the service has two replicas, a read-only root, no capabilities, and time to drain', () => {
  const service = serviceOf('switchyard')
  assert.equal(recordOf(service['deploy'])['replicas'], 2)
  assert.equal(service['read_only'], true)
  assert.deepEqual(service['cap_drop'], ['ALL'])
  assert.deepEqual(service['security_opt'], ['no-new-privileges:true'])
  assert.equal(service['stop_grace_period'], '60s')
})

test('only the load balancer has a port of the host, on loopback', () => {
  const ports = services.flatMap(({ name, service }) => listOf(service['ports']).map(port => [name, port]))
  assert.deepEqual(ports, [['balancer', '127.0.0.1:4000:4000']])
  const networks = serviceOf('balancer')['networks']
  assert.deepEqual(networks, ['front'])
  assert.deepEqual(serviceOf('postgres')['networks'], ['back'])
})

test('harnesses and the object store start with a profile only', () => {
  const profiles = services.flatMap(({ name, service }) => (service['profiles'] ? [[name, service['profiles']]] : []))
  assert.deepEqual(profiles, [
    ['opencode', ['harnesses']],
    ['object-store', ['object-store']],
  ])
})

import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { parse, parseAllDocuments } from 'yaml'

const root = join(import.meta.dirname, '..', '..')
const read = (file: string) => readFileSync(join(root, file), 'utf8')

const dockerfiles = globSync('deploy/**/*Dockerfile', { cwd: root })

for (const file of dockerfiles) {
  /** Instructions without comments, each on one line. */
  const lines = read(file)
    .replaceAll(/\\\n\s*/g, ' ')
    .split('\n')
    .filter(line => line !== '' && !line.startsWith('#'))

  test(`S60: ${file}: its bases are stages, or one exact version that a digest can replace`, () => {
    const stages = lines.flatMap(line => /^FROM .* AS (\w+)$/.exec(line)?.[1] ?? [])
    const bases = lines.flatMap(line => /^FROM (\S+)/.exec(line)?.[1] ?? [])
    assert.ok(bases.length > 0)
    for (const base of bases) {
      const [, argument] = /^\$\{(\w+)\}$/.exec(base) ?? []
      const image = argument === undefined ? base : (lines.find(line => line.startsWith(`ARG ${argument}=`)) ?? '')
      assert.ok(
        stages.includes(base) || /:\d+\.\d+\.\d+(-[\w.-]+)?(@sha256:[0-9a-f]{64})?$/.test(image),
        `${base} ${image}`,
      )
    }
  })

  test(`S60: ${file}: nothing is downloaded but packages of the distribution and exact versions from the registry`, () => {
    for (const line of lines) {
      assert.doesNotMatch(line, /^ADD |\b(curl|wget|npx|pip|git clone)\b.*http/, line)
      const installed = /\bnpm (?:install|i) ([^&]*)/.exec(line)?.[1] ?? ''
      for (const name of installed.split(' ').filter(word => word !== '' && !word.startsWith('-')))
        assert.match(name, /@\d+\.\d+\.\d+$/, line)
    }
  })

  test(`S60: ${file}: the process does not run as root`, () => {
    const [, user = 'root'] = /^USER (\w+)/.exec(lines.findLast(line => line.startsWith('USER ')) ?? '') ?? []
    assert.ok(user !== 'root' && user !== '0', user)
  })
}

test('S60: the compose file runs the service with a read-only root and without capabilities', () => {
  const { services } = parse(read('deploy/compose.yaml')) as { services: Record<string, Record<string, unknown>> }
  const service = services['switchyard'] ?? {}
  assert.deepEqual(
    [service['read_only'], service['cap_drop'], service['security_opt']],
    [true, ['ALL'], ['no-new-privileges:true']],
  )
  for (const [name, { privileged, volumes }] of Object.entries(services)) {
    assert.equal(privileged, undefined, name)
    assert.doesNotMatch(JSON.stringify(volumes ?? []), /docker\.sock/, name)
  }
})

interface Workload {
  readonly kind?: string
  readonly spec?: { readonly template?: { readonly spec?: PodSpec } }
}
interface PodSpec {
  readonly securityContext?: { readonly runAsNonRoot?: boolean; readonly seccompProfile?: { readonly type?: string } }
  readonly hostNetwork?: boolean
  readonly containers: readonly { readonly name: string; readonly securityContext?: unknown }[]
}

test('S60: the pods of Kubernetes run as a user without rights, with a read-only root', () => {
  const pods = globSync('deploy/kubernetes/*.yaml', { cwd: root })
    .flatMap(file => parseAllDocuments(read(file)).map(document => document.toJS() as Workload | null))
    .flatMap(object => object?.spec?.template?.spec ?? [])
  assert.ok(pods.length >= 2, String(pods.length))
  for (const { securityContext, hostNetwork, containers } of pods) {
    assert.deepEqual(
      [securityContext?.runAsNonRoot, securityContext?.seccompProfile?.type, hostNetwork ?? false],
      [true, 'RuntimeDefault', false],
    )
    for (const container of containers)
      assert.deepEqual(
        container.securityContext,
        { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } },
        container.name,
      )
  }
})

test('S60: the unit of systemd has its own user, a read-only system and no new privileges', () => {
  const unit = read('deploy/systemd/switchyard.service')
  for (const line of ['User=switchyard', 'ProtectSystem=strict', 'NoNewPrivileges=yes'])
    assert.match(unit, new RegExp(`^${line}$`, 'm'), line)
})

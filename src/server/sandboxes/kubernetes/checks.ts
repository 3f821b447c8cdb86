import { randomBytes } from 'node:crypto'
import { lookup } from 'node:dns/promises'
import { chown, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { KubernetesSandbox } from '../../config/agent-settings.ts'
import { AppError } from '../../platform/errors.ts'
import { type Json, listOf, recordOf, textOf } from '../../platform/json.ts'
import { pause } from '../../platform/timers.ts'
import type { KubernetesApi } from './api.ts'
import { absentAs } from './cluster.ts'
import { KubernetesError } from './kubernetes-error.ts'
import { denyAllPolicy, policyName, sandboxApi } from './objects.ts'
import { neededRights, type Right, textOfRight } from './rights.ts'
import type { AcquiredSlot, Slots } from './slots.ts'
import type { KubernetesTimes } from './times.ts'

interface Subject {
  readonly api: KubernetesApi
  readonly settings: KubernetesSandbox
  readonly slots: Slots
  readonly workspacesDir: string
  /** User of the sandboxes. */
  readonly user: number
  readonly times: Pick<KubernetesTimes, 'policyMs'>
}

const failed = (text: string, cause?: unknown) => new AppError('unavailable', text, { cause })

/**
 * Checks everything that the driver needs, the last by a trial run. Creates the network policy if there is none. Rejects with
 * `AppError` that names what is missing; returns remarks about what it has found.
 */
export async function checkCluster(subject: Subject): Promise<string[]> {
  const { api, settings } = subject
  const remarks = await examineCluster(api, settings)
  await ensurePolicy(api, settings)
  return [...remarks, await tryOut(subject)]
}

/** Does the part of `checkCluster` that changes nothing. */
export async function examineCluster(api: KubernetesApi, settings: KubernetesSandbox): Promise<string[]> {
  const found = await absentAs(undefined, api.call({ method: 'GET', path: `/apis/${sandboxApi}` }))
  if (!found) throw failed(`the cluster has no API ${sandboxApi}; install agent-sandbox 0.5 or later`)
  await checkRights(api, settings)
  return await checkClaim(api, settings)
}

async function checkRights(api: KubernetesApi, { namespace }: KubernetesSandbox): Promise<void> {
  const granted = await Promise.all(neededRights.map(right => isGranted(api, namespace, right)))
  const missing = neededRights.filter((_, at) => !granted[at])
  if (missing.length === 0) return
  throw failed(
    `the service account lacks rights in namespace ${namespace}: ${missing.map(textOfRight).join(', ')}; apply the Role of docs/sandboxes-kubernetes.md`,
  )
}

async function isGranted(api: KubernetesApi, namespace: string, right: Right): Promise<boolean> {
  const body = {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SelfSubjectAccessReview',
    spec: { resourceAttributes: { namespace, ...right } },
  }
  const path = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews'
  const { status } = await api.call({ method: 'POST', path, body })
  return recordOf(status)['allowed'] === true
}

async function checkClaim(api: KubernetesApi, { namespace, claim }: KubernetesSandbox): Promise<string[]> {
  const path = `/api/v1/namespaces/${namespace}/persistentvolumeclaims/${claim}`
  const found = await absentAs(undefined, api.call({ method: 'GET', path }))
  if (!found) throw failed(`persistent volume claim ${claim} does not exist in namespace ${namespace}`)
  const phase = textOf(recordOf(found['status'])['phase'])
  if (phase !== 'Bound') throw failed(`persistent volume claim ${claim} is not bound: ${phase || 'no status'}`)
  const modes = listOf(recordOf(found['spec'])['accessModes'])
  if (modes.includes('ReadWriteMany')) return []
  if (modes.includes('ReadWriteOnce')) return [`claim ${claim} is ReadWriteOnce: sandboxes run on its node only`]
  throw failed(`persistent volume claim ${claim} needs the access mode ReadWriteMany, or ReadWriteOnce on one node`)
}

/** Creates the policy, or checks that an existing one still denies everything. */
async function ensurePolicy(api: KubernetesApi, { namespace }: KubernetesSandbox): Promise<void> {
  const policies = `/apis/networking.k8s.io/v1/namespaces/${namespace}/networkpolicies`
  const read = () => absentAs(undefined, api.call({ method: 'GET', path: `${policies}/${policyName}` }))
  const wanted = denyAllPolicy()
  let found = await read()
  if (!found) {
    const creation = api.call({ method: 'POST', path: `${policies}?fieldValidation=Strict`, body: wanted })
    found = await creation.catch(async (error: unknown) => {
      // Another server has created it meanwhile.
      if (error instanceof KubernetesError && error.status === 409) return await read()
      throw error
    })
  }
  if (found && deniesAll(recordOf(found['spec']), wanted.spec)) return
  throw failed(`network policy ${policyName} does not deny all connections of sandboxes; delete it and start again`)
}

const deniesAll = (spec: Json, wanted: ReturnType<typeof denyAllPolicy>['spec']): boolean =>
  isDeepStrictEqual(recordOf(spec['podSelector']), wanted.podSelector) &&
  wanted.policyTypes.every(type => listOf(spec['policyTypes']).includes(type)) &&
  listOf(spec['ingress']).length === 0 &&
  listOf(spec['egress']).length === 0

/** Runs a command as a session would, and tries to connect to the API server from inside. */
async function tryOut({ settings, slots, workspacesDir, user, times }: Subject): Promise<string> {
  const folder = join(workspacesDir, `.trial-${randomBytes(6).toString('hex')}`)
  const signal = AbortSignal.timeout(trialMs)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  let slot: AcquiredSlot | undefined
  try {
    await writeFile(join(folder, 'question'), 'ready\n')
    if (process.getuid?.() === 0) for (const path of [folder, join(folder, 'question')]) await chown(path, user, user)
    slot = await slots.acquire(folder, { signal })
    await checkInside(slot, folder, settings)
    if ((await slot.clean()) !== 'clean')
      throw failed('the processes of a sandbox cannot be ended: its image needs sh and find')
    return await checkIsolation(slot, settings, times)
  } catch (error) {
    if (signal.aborted) throw failed(`the trial run did not end within ${trialMs / 1000} s`, error)
    throw error
  } finally {
    await slot?.release()
    await rm(folder, { recursive: true, force: true })
  }
}

const trialMs = 240_000

const trialScript = [
  'for name in base64 find sleep; do command -v $name >/dev/null || { echo "the image has no $name"; exit 1; }; done',
  '[ "$(id -u)" != 0 ] || { echo "commands run as root"; exit 1; }',
  'for file in /x /etc/x; do { true > $file; } 2>/dev/null && { echo "the root file system is writable"; exit 1; }; done',
  '{ true > /tmp/x && true > /dev/shm/x; } || { echo "/tmp or /dev/shm is not writable"; exit 1; }',
  '[ ! -e /var/run/secrets/kubernetes.io ] || { echo "a service account token is mounted"; exit 1; }',
  'cd /workspace && [ "$(cat question)" = ready ] && echo written > answer || { echo "the workspace is another folder"; exit 1; }',
].join('\n')

async function checkInside(slot: AcquiredSlot, folder: string, { claim, subPath }: KubernetesSandbox): Promise<void> {
  const { code, output } = await outputOf(slot, trialScript)
  if (code !== 0) throw failed(`trial run in a sandbox failed: ${output || `exit code ${code}`}${claimHint(output)}`)
  const answer = await readFile(join(folder, 'answer'), 'utf8').catch(() => '')
  if (answer !== 'written\n')
    throw failed(`${subPath ?? 'the root'} of claim ${claim} is not the workspaces folder of this server`)
}

const claimHint = (output: string): string =>
  output.includes('workspace') ? '; check sandbox.kubernetes.workspaces.claim and sub_path' : ''

async function outputOf(slot: AcquiredSlot, script: string): Promise<{ code: number; output: string }> {
  let output = ''
  const exec = await slot.start(script, {
    stdout: part => {
      output = `${output}${part.toString('utf8')}`.slice(0, 1_000)
    },
  })
  const status = await exec.ended
  if (status.kind === 'lost') throw failed(`trial run in a sandbox failed: ${(await slot.whyEnded()) ?? status.reason}`)
  return { code: status.code, output: output.trim() }
}

const noTool = 3
const policyPauseMs = 500

/** Exits with 0 when a connection succeeds, with 3 when the image has no program that could try. */
const connectScript = (host: string, port: string) =>
  [
    `if command -v bash >/dev/null && command -v timeout >/dev/null; then timeout 3 bash -c 'exec 3<>/dev/tcp/${host}/${port}' 2>/dev/null`,
    `elif command -v nc >/dev/null; then nc -w 3 ${host} ${port} </dev/null >/dev/null 2>&1`,
    `else exit ${noTool}; fi`,
    '[ $? = 0 ] || exit 1',
  ].join('\n')

/** A network plugin may take a moment to apply the policy to a new pod. */
async function checkIsolation(
  slot: AcquiredSlot,
  { api }: KubernetesSandbox,
  { policyMs }: Subject['times'],
): Promise<string> {
  const { hostname, port } = new URL(api.server)
  const { address } = await lookup(hostname.replace(/^\[|\]$/g, ''))
  const endMs = performance.now() + policyMs
  for (let isFirst = true; isFirst || performance.now() < endMs; isFirst = false) {
    if (!isFirst) await pause(policyPauseMs)
    const { code } = await outputOf(slot, connectScript(address, port || '443'))
    if (code === noTool) return 'network policy not tested: the image has neither bash and timeout nor nc'
    if (code !== 0) return 'network policy tested'
  }
  throw failed(
    `network policy ${policyName} has no effect: a sandbox reached ${address}; the network plugin of the cluster must support network policies`,
  )
}

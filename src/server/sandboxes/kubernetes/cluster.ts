import type { KubernetesSandbox } from '../../config/agent-settings.ts'
import { type Json, recordOf, recordsOf, textOf } from '../../platform/json.ts'
import { pause } from '../../platform/timers.ts'
import type { SandboxLimits } from '../sandbox.ts'
import type { KubernetesApi } from './api.ts'
import { type ExecCommand, type RunningExec, startExec } from './exec.ts'
import { isTransient, KubernetesError } from './kubernetes-error.ts'
import {
  hostLabel,
  type Owner,
  ownLabels,
  processAnnotation,
  type SandboxObject,
  sandboxApi,
  sandboxObject,
  selectorOf,
  timeOf,
} from './objects.ts'
import { type PodState, podStateOf } from './pod-state.ts'
import type { KubernetesTimes } from './times.ts'

interface Deps {
  readonly api: KubernetesApi
  readonly settings: KubernetesSandbox
  readonly limits: SandboxLimits
  readonly user: number
  readonly times: Pick<KubernetesTimes, 'retryMs'>
}

export interface StoredSandbox {
  readonly name: string
  /** Process of the server that created it. */
  readonly process: string
}

/** The sandboxes of this installation in its namespace. Every call rejects with `KubernetesError`. */
export type Cluster = ReturnType<typeof createCluster>

/** What runs in a pod. */
type PodCommand = Omit<ExecCommand, 'namespace' | 'signal'> & { readonly signal?: AbortSignal | undefined }

export function createCluster({ api, times: { retryMs }, ...surroundings }: Deps) {
  const { namespace } = surroundings.settings
  const sandboxes = `/apis/${sandboxApi}/namespaces/${namespace}/sandboxes`
  const pods = `/api/v1/namespaces/${namespace}/pods`

  const podState = async (name: string): Promise<PodState> => {
    const pod = await absentAs(undefined, api.call({ method: 'GET', path: `${pods}/${name}` }))
    return pod ? podStateOf(pod) : { kind: 'ended', reason: 'its pod was deleted' }
  }

  return {
    async create(sandbox: SandboxObject, signal: AbortSignal): Promise<void> {
      const body = sandboxObject(sandbox, surroundings)
      const creation = api.call({ method: 'POST', path: `${sandboxes}?fieldValidation=Strict`, body, signal })
      // The name is random: an existing object is the result of a lost response.
      await creation.catch(error => ignoring(409, error))
    },

    /** Moves the time at which the cluster deletes a sandbox. */
    async renew(name: string, expires: Date): Promise<void> {
      const body = { spec: { shutdownTime: timeOf(expires) } }
      await api.call({ method: 'PATCH', path: `${sandboxes}/${name}`, body })
    },

    /** Does nothing for one that does not exist. */
    async remove(name: string): Promise<void> {
      const body = { apiVersion: 'v1', kind: 'DeleteOptions', propagationPolicy: 'Background' }
      await absentAs(undefined, api.call({ method: 'DELETE', path: `${sandboxes}/${name}`, body }))
    },

    podState,

    /** Yields the states of a pod, the present one first, until the watch ends. */
    async *podStates(name: string, signal: AbortSignal): AsyncGenerator<PodState> {
      const query = `watch=1&allowWatchBookmarks=true&fieldSelector=${encodeURIComponent(`metadata.name=${name}`)}`
      for await (const { type, object } of api.watch(`${pods}?${query}`, signal)) {
        if (type === 'ERROR') throw new KubernetesError(textOf(recordOf(object)['message']) || 'watch failed')
        if (type === 'DELETED') yield { kind: 'ended', reason: 'its pod was deleted' }
        if (type === 'ADDED' || type === 'MODIFIED') yield podStateOf(recordOf(object))
      }
    },

    /** Lists the sandboxes that servers on this host have created. */
    async listOf({ host }: Pick<Owner, 'host'>): Promise<StoredSandbox[]> {
      const selector = selectorOf({ ...ownLabels, [hostLabel]: host })
      const { items } = await api.call({ method: 'GET', path: `${sandboxes}?labelSelector=${selector}` })
      return recordsOf(items).map(storedOf)
    },

    /** Starts a command. Retries transient failures: the command waits for its input, so that none runs twice. */
    async exec(command: PodCommand): Promise<RunningExec> {
      const late = AbortSignal.timeout(retryMs)
      const signal = command.signal ? AbortSignal.any([command.signal, late]) : late
      for (let attempt = 1; ; attempt++) {
        try {
          return await startExec(api, { ...command, namespace, signal })
        } catch (error) {
          command.signal?.throwIfAborted()
          if (!(error instanceof KubernetesError) || !isTransient(error) || late.aborted) throw error
          await pause(error.retryAfterMs ?? 200 * attempt, signal)
        }
      }
    },
  }
}

function storedOf(item: Json): StoredSandbox {
  const { name, annotations } = recordOf(item['metadata'])
  return { name: textOf(name), process: textOf(recordOf(annotations)[processAnnotation]) }
}

function ignoring(status: number, error: unknown): void {
  if (!(error instanceof KubernetesError && error.status === status)) throw error
}

/** Returns `absent` when the object does not exist. */
export async function absentAs<T>(absent: T, call: Promise<Json>): Promise<Json | T> {
  return await call.catch((error: unknown) => {
    ignoring(404, error)
    return absent
  })
}

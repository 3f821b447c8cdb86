import { mkdirSync } from 'node:fs'
import { type Json, recordOf, recordsOf, textOf } from '../../../src/server/platform/json.ts'
import { every, pause } from '../../../src/server/platform/timers.ts'
import { type Container, startContainer } from './container.ts'

export interface ClusterSettings {
  readonly namespace: string
  readonly claim: string
  /** Folder of this machine with the content of the claim. */
  readonly volume: string
  /** False: network policies have no effect. */
  readonly isIsolated: boolean
  /** Time of each step of a starting pod. */
  readonly stepMs: number
}

export type Kind = 'sandboxes' | 'pods' | 'networkpolicies' | 'persistentvolumeclaims'

export interface StoredObject {
  readonly [field: string]: unknown
  readonly metadata: Json & { readonly name: string }
}

export interface WatchEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'
  readonly kind: Kind
  readonly object: StoredObject
}

/** Why a pod ended by itself. */
export interface PodEnd {
  /** Reason of the pod, such as `Evicted`. */
  readonly reason?: string
  readonly message?: string
  /** Reason of the container, such as `OOMKilled`. */
  readonly containerReason: string
}

/** Objects of one namespace, the controller of agent-sandbox and a node whose containers are real processes. */
export class FakeCluster {
  readonly settings: ClusterSettings
  readonly objects = new Map<string, StoredObject>()
  readonly containers = new Map<string, Container>()
  /** When set, pods stay in this waiting state. */
  waiting: { readonly reason: string; readonly message: string } | undefined
  /** When set, the scheduler finds no node. */
  unschedulable: string | undefined
  /** False: there is no controller, so that sandboxes stay without a pod. */
  hasController = true
  /** True: deleted pods stay, as those of a node that is lost. */
  isNodeLost = false
  readonly #watchers = new Set<(event: WatchEvent) => void>()
  readonly #stopExpiry: () => Promise<void>
  #version = 100
  #isClosed = false

  constructor(settings: ClusterSettings) {
    this.settings = settings
    this.#stopExpiry = every(50, async () => this.#expire())
  }

  get version(): string {
    return String(this.#version)
  }

  find(kind: Kind, name: string): StoredObject | undefined {
    return this.objects.get(`${kind}/${name}`)
  }

  list(kind: Kind): StoredObject[] {
    return [...this.objects].filter(([key]) => key.startsWith(`${kind}/`)).map(([, object]) => object)
  }

  store(kind: Kind, object: Json): StoredObject {
    const given = recordOf(object['metadata'])
    const name = textOf(given['name'])
    const isNew = !this.find(kind, name)
    this.#version += 1
    const created = { uid: crypto.randomUUID(), creationTimestamp: new Date().toISOString(), ...given }
    const metadata = { ...created, name, namespace: this.settings.namespace, resourceVersion: this.version }
    const stored = { ...object, metadata }
    this.objects.set(`${kind}/${name}`, stored)
    this.#announce({ type: isNew ? 'ADDED' : 'MODIFIED', kind, object: stored })
    return stored
  }

  drop(kind: Kind, name: string): void {
    const object = this.find(kind, name)
    if (!object) return
    this.#version += 1
    this.objects.delete(`${kind}/${name}`)
    const metadata = { ...object.metadata, resourceVersion: this.version }
    this.#announce({ type: 'DELETED', kind, object: { ...object, metadata } })
  }

  /** Returns a function that ends the subscription. */
  subscribe(watcher: (event: WatchEvent) => void): () => void {
    this.#watchers.add(watcher)
    return () => this.#watchers.delete(watcher)
  }

  createSandbox(object: Json): StoredObject {
    const stored = this.store('sandboxes', object)
    if (this.hasController) void this.#startPod(stored)
    return stored
  }

  removeSandbox(name: string): void {
    this.drop('sandboxes', name)
    void this.#endPod(name)
  }

  /** Ends a pod in the middle of what it does. */
  async failPod(name: string, { reason, message, containerReason }: PodEnd): Promise<void> {
    const container = this.containers.get(name)
    container?.kill()
    await container?.exited
    this.#setStatus(name, {
      phase: 'Failed',
      ...(reason && { reason, message }),
      containerStatuses: [
        { name: 'sandbox', ready: false, state: { terminated: { exitCode: 137, reason: containerReason } } },
      ],
    })
    this.containers.delete(name)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.#stopExpiry()
    for (const container of this.containers.values()) container.kill()
    await Promise.all([...this.containers.values()].map(({ exited }) => exited))
  }

  #announce(event: WatchEvent): void {
    for (const watcher of this.#watchers) watcher(event)
  }

  #expire(): void {
    for (const { metadata, spec } of this.list('sandboxes')) {
      const { shutdownTime, shutdownPolicy } = recordOf(spec)
      const isOver = typeof shutdownTime === 'string' && Date.parse(shutdownTime) <= Date.now()
      if (isOver && shutdownPolicy === 'Delete') this.removeSandbox(metadata.name)
    }
  }

  #setStatus(name: string, status: Json): boolean {
    const pod = this.find('pods', name)
    if (!pod) return false
    this.store('pods', { ...pod, status })
    return true
  }

  async #startPod({ metadata: { name, uid }, spec }: StoredObject): Promise<void> {
    const { stepMs } = this.settings
    await pause(stepMs)
    const template = recordOf(recordOf(spec)['podTemplate'])
    const podSpec = recordOf(template['spec'])
    if (!this.find('sandboxes', name)) return
    const owner = { apiVersion: 'agents.x-k8s.io/v1beta1', kind: 'Sandbox', name, uid, controller: true }
    const metadata = { ...recordOf(template['metadata']), name, ownerReferences: [owner] }
    this.store('pods', { apiVersion: 'v1', kind: 'Pod', metadata, spec: podSpec, status: { phase: 'Pending' } })
    await pause(stepMs)
    if (this.unschedulable !== undefined) {
      const condition = { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: this.unschedulable }
      this.#setStatus(name, { phase: 'Pending', conditions: [condition] })
      return
    }
    const waiting = this.waiting ?? { reason: 'ContainerCreating' }
    const status = { phase: 'Pending', containerStatuses: [{ name: 'sandbox', ready: false, state: { waiting } }] }
    if (!this.#setStatus(name, status) || this.waiting) return
    await pause(stepMs)
    if (this.#isClosed || !this.find('pods', name)) return
    await this.#startContainer(name, podSpec)
  }

  async #startContainer(name: string, spec: Json): Promise<void> {
    const { claim, volume, isIsolated } = this.settings
    const [pod] = recordsOf(spec['containers'])
    for (const { subPath } of recordsOf(pod?.['volumeMounts']))
      if (typeof subPath === 'string') mkdirSync(`${volume}/${subPath}`, { recursive: true })
    const volumeOf = (wanted: string) => (wanted === claim ? volume : `${volume}/no-such-claim`)
    const container = await startContainer({ spec, volumeOf, isIsolated })
    this.containers.set(name, container)
    if (this.#isClosed || !this.find('pods', name)) container.kill()
    const running = { name: 'sandbox', ready: true, state: { running: { startedAt: new Date().toISOString() } } }
    this.#setStatus(name, { phase: 'Running', podIP: '10.0.0.9', containerStatuses: [running] })
  }

  async #endPod(name: string): Promise<void> {
    const pod = this.find('pods', name)
    if (!pod) return
    const metadata = { ...pod.metadata, deletionTimestamp: new Date().toISOString() }
    this.store('pods', { ...pod, metadata })
    if (this.isNodeLost) return
    const seconds = Number(recordOf(pod['spec'])['terminationGracePeriodSeconds'] ?? 30)
    await this.containers.get(name)?.stop(seconds * 1000)
    this.containers.delete(name)
    this.drop('pods', name)
  }
}

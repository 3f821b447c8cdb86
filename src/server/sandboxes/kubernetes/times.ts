/** Times of the driver in milliseconds. Our choice. */
export interface KubernetesTimes {
  /** Maximum time until a pod runs. */
  readonly startMs: number
  /** Time after which the cluster deletes the sandbox of a server that no longer renews it. */
  readonly leaseMs: number
  /** Time after which an unused sandbox is deleted. */
  readonly idleMs: number
  /** Maximum time that the end of a pod is awaited. */
  readonly endMs: number
  /** Time in which a request is repeated after transient failures. */
  readonly retryMs: number
  /** Maximum time until a network policy applies to a new pod. */
  readonly policyMs: number
}

export const kubernetesTimes: KubernetesTimes = {
  startMs: 180_000,
  leaseMs: 900_000,
  idleMs: 300_000,
  endMs: 30_000,
  retryMs: 15_000,
  policyMs: 10_000,
}

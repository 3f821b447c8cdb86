import type { KubernetesSandbox } from '../../config/agent-settings.ts'
import { commandEnvironment, homeRoot, type SandboxLimits, workspaceRoot } from '../sandbox.ts'
import { containerName } from './exec.ts'
import { processOne } from './scripts.ts'

export const sandboxApi = 'agents.x-k8s.io/v1beta1'
export const policyName = 'switchyard-sandboxes'

/** On every object of ours. */
export const ownLabels = { 'app.kubernetes.io/managed-by': 'switchyard', 'app.kubernetes.io/component': 'sandbox' }
/** Digest of the host name of the server that created a sandbox. */
export const hostLabel = 'switchyard/host'
/** Digest of the workspace that a sandbox has. */
const workspaceLabel = 'switchyard/workspace'
/** Process of the server that created a sandbox: its id and start time. */
export const processAnnotation = 'switchyard/process'

export const selectorOf = (labels: Readonly<Record<string, string>>): string =>
  encodeURIComponent(
    Object.entries(labels)
      .map(([name, value]) => `${name}=${value}`)
      .join(','),
  )

/** Identity of the server process. */
export interface Owner {
  readonly host: string
  readonly process: string
}

export interface SandboxObject {
  readonly name: string
  readonly owner: Owner
  /** Digest of the workspace folder. */
  readonly workspace: string
  /** Name of the workspace folder below `sub_path` of the claim. */
  readonly folder: string
  /** Present for a program, which has a HOME that persists: the name of its folder. */
  readonly home?: string | undefined
  /** Image of the container. */
  readonly image: string
  /** When the cluster deletes it unless the time is moved. */
  readonly expires: Date
}

interface Surroundings {
  readonly settings: KubernetesSandbox
  readonly limits: SandboxLimits
  /** User and group of the server's workspace folders; never 0. */
  readonly user: number
}

/** Kubernetes accepts no fractions of a second here. */
export const timeOf = (time: Date): string => time.toISOString().replace(/\.\d+Z$/, 'Z')

/** Returns the resource of one sandbox. The controller of agent-sandbox creates a pod of the same name for it. */
export function sandboxObject(sandbox: SandboxObject, surroundings: Surroundings) {
  const labels = { ...ownLabels, [hostLabel]: sandbox.owner.host, [workspaceLabel]: sandbox.workspace }
  return {
    apiVersion: sandboxApi,
    kind: 'Sandbox',
    metadata: { name: sandbox.name, labels, annotations: { [processAnnotation]: sandbox.owner.process } },
    spec: {
      operatingMode: 'Running',
      service: false,
      shutdownTime: timeOf(sandbox.expires),
      shutdownPolicy: 'Delete',
      podTemplate: { metadata: { labels }, spec: podSpec(sandbox, surroundings) },
    },
  }
}

function podSpec({ folder, home, image }: SandboxObject, surroundings: Surroundings) {
  const { settings, limits, user } = surroundings
  const { claim, subPath, serviceAccount, runtimeClass, nodeSelector, pullSecrets } = settings
  const pathOf = (name: string) => (subPath === undefined ? name : `${subPath}/${name}`)
  return {
    restartPolicy: 'Never',
    terminationGracePeriodSeconds: 1,
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    hostNetwork: false,
    hostPID: false,
    hostIPC: false,
    shareProcessNamespace: false,
    hostname: 'sandbox',
    ...(serviceAccount !== undefined && { serviceAccountName: serviceAccount }),
    ...(runtimeClass !== undefined && { runtimeClassName: runtimeClass }),
    ...(Object.keys(nodeSelector).length > 0 && { nodeSelector }),
    ...(pullSecrets.length > 0 && { imagePullSecrets: pullSecrets.map(name => ({ name })) }),
    securityContext: {
      runAsNonRoot: true,
      runAsUser: user,
      runAsGroup: user,
      seccompProfile: { type: 'RuntimeDefault' },
    },
    containers: [
      {
        name: containerName,
        image,
        command: ['/bin/sh', '-c', processOne],
        workingDir: '/',
        env: Object.entries(commandEnvironment).map(([name, value]) => ({ name, value })),
        securityContext: {
          allowPrivilegeEscalation: false,
          privileged: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        },
        resources: resourcesOf(limits),
        volumeMounts: [
          { name: 'workspaces', mountPath: workspaceRoot, subPath: pathOf(folder) },
          ...(home === undefined ? [] : [{ name: 'workspaces', mountPath: homeRoot, subPath: pathOf(home) }]),
          { name: 'tmp', mountPath: '/tmp' },
          { name: 'shm', mountPath: '/dev/shm' },
        ],
      },
    ],
    volumes: [
      { name: 'workspaces', persistentVolumeClaim: { claimName: claim } },
      { name: 'tmp', emptyDir: memoryOf(limits) },
      { name: 'shm', emptyDir: memoryOf(limits) },
    ],
  }
}

const memoryOf = ({ scratchBytes }: SandboxLimits) => ({ medium: 'Memory', sizeLimit: String(scratchBytes) })

/** An idle sandbox reserves little; a command may use all that the limits allow. */
const resourcesOf = ({ cpus, memoryBytes }: SandboxLimits) => ({
  requests: { cpu: `${Math.min(50, milli(cpus))}m`, memory: String(Math.min(memoryBytes, 64 * 1024 * 1024)) },
  limits: { cpu: `${milli(cpus)}m`, memory: String(memoryBytes), 'ephemeral-storage': '64Mi' },
})

const milli = (cpus: number) => Math.max(1, Math.round(cpus * 1000))

/** Returns the policy that denies every connection of a sandbox, DNS included. */
export const denyAllPolicy = () => ({
  apiVersion: 'networking.k8s.io/v1',
  kind: 'NetworkPolicy',
  metadata: { name: policyName, labels: ownLabels },
  spec: { podSelector: { matchLabels: ownLabels }, policyTypes: ['Ingress', 'Egress'] },
})

import type { KubernetesAccess, KubernetesSandbox } from './agent-settings.ts'
import type { Environment } from './config.ts'
import type { KubernetesBlock } from './sandbox-shape.ts'
import type { ReportAt } from './yaml-shape.ts'

/** Name of an object in a cluster. */
const objectName = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/

/** Returns the settings of the part `kubernetes` of the block `sandbox`; undefined when a required one is missing. */
export function kubernetesOfFile(
  block: KubernetesBlock,
  env: Environment,
  reportAt: ReportAt,
): KubernetesSandbox | undefined {
  const { namespace, workspaces: { claim, sub_path } = {}, service_account, runtime_class } = block
  const named = (value: string | undefined, ...path: string[]) => {
    if (value !== undefined && !objectName.test(value))
      reportAt(`kubernetes.${path.join('.')} must be the name of an object: a-z, 0-9, - and .`, 'kubernetes', ...path)
  }
  if (namespace === undefined) reportAt('kubernetes.namespace is required', 'kubernetes')
  if (claim === undefined)
    reportAt('kubernetes.workspaces.claim is required: the volume with the workspaces folder', 'kubernetes')
  named(namespace, 'namespace')
  named(claim, 'workspaces', 'claim')
  named(service_account, 'service_account')
  named(runtime_class, 'runtime_class')
  const pullSecrets = (block.pull_secrets ?? []).filter(name => name !== undefined)
  for (const name of pullSecrets) named(name, 'pull_secrets')
  if (sub_path !== undefined && !isInnerPath(sub_path))
    reportAt(
      'kubernetes.workspaces.sub_path must be a relative path without ..',
      'kubernetes',
      'workspaces',
      'sub_path',
    )
  const api = accessOf(block.api ?? {}, env, reportAt)
  if (namespace === undefined || claim === undefined || api === undefined) return undefined
  return {
    namespace,
    claim,
    subPath: sub_path,
    serviceAccount: service_account,
    runtimeClass: runtime_class,
    nodeSelector: Object.fromEntries(
      Object.entries(block.node_selector ?? {}).flatMap(([key, value]) => (value === undefined ? [] : [[key, value]])),
    ),
    pullSecrets,
    api,
  }
}

const isInnerPath = (path: string): boolean =>
  path.length <= 1000 && path.split('/').every(part => /^[\w.-]+$/.test(part) && part !== '.' && part !== '..')

const accountFolder = '/var/run/secrets/kubernetes.io/serviceaccount'

/** Returns the access to the API server: by default that of the pod in which this server runs. */
function accessOf(
  { server, token_file, ca_file }: NonNullable<KubernetesBlock['api']>,
  env: Environment,
  reportAt: ReportAt,
): KubernetesAccess | undefined {
  const address = server ?? addressInside(env)
  if (address === undefined) {
    reportAt('kubernetes.api.server is required outside of a cluster', 'kubernetes')
    return undefined
  }
  const url = URL.parse(address)
  if (url?.protocol !== 'https:' || url.username !== '' || url.search !== '' || url.hash !== '') {
    reportAt('kubernetes.api.server must be an https:// address', 'kubernetes', 'api', 'server')
    return undefined
  }
  return {
    server: address,
    tokenFile: token_file ?? `${accountFolder}/token`,
    caFile: ca_file ?? `${accountFolder}/ca.crt`,
  }
}

/** Kubernetes sets both variables in every pod. */
function addressInside(env: Environment): string | undefined {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = env
  if (!host || !port) return undefined
  return `https://${host.includes(':') ? `[${host}]` : host}:${port}`
}

import { type Shape, text, texts } from './yaml-shape.ts'

/** Block `sandbox` of the file. */
export interface SandboxBlock {
  readonly driver?: string
  readonly image?: string
  readonly images?: readonly (string | undefined)[]
  readonly docker?: DockerBlock
  readonly kubernetes?: KubernetesBlock
}

/** Part `docker` of the block. */
export type DockerBlock = Partial<Record<'socket' | 'runtime' | 'user' | 'proxy_image' | 'pull', string>>

/** Part `kubernetes` of the block. */
export interface KubernetesBlock {
  readonly namespace?: string
  readonly workspaces?: { readonly claim?: string; readonly sub_path?: string }
  readonly service_account?: string
  readonly runtime_class?: string
  readonly node_selector?: Readonly<Record<string, string | undefined>>
  readonly pull_secrets?: readonly (string | undefined)[]
  readonly api?: { readonly server?: string; readonly token_file?: string; readonly ca_file?: string }
}

const kubernetesBlock: Shape = {
  kind: 'block',
  keys: {
    namespace: text,
    workspaces: { kind: 'block', keys: { claim: text, sub_path: text } },
    service_account: text,
    runtime_class: text,
    node_selector: { kind: 'by name', of: text },
    pull_secrets: texts,
    api: { kind: 'block', keys: { server: text, token_file: text, ca_file: text } },
  },
}

export const sandboxBlock: Shape = {
  kind: 'block',
  keys: {
    driver: text,
    image: text,
    images: texts,
    docker: { kind: 'block', keys: { socket: text, runtime: text, user: text, proxy_image: text, pull: text } },
    kubernetes: kubernetesBlock,
  },
}

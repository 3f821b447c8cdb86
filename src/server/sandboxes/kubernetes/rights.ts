/** A right that the server needs in the namespace of its sandboxes. */
export interface Right {
  readonly group: string
  readonly resource: string
  readonly subresource?: string
  readonly verb: string
}

const rights = (group: string, resource: string, verbs: readonly string[]): Right[] =>
  verbs.map(verb => ({ group, resource, verb }))

/** The Role in docs/sandboxes-kubernetes.md grants exactly these. */
export const neededRights: readonly Right[] = [
  ...rights('agents.x-k8s.io', 'sandboxes', ['create', 'delete', 'list', 'patch']),
  ...rights('', 'pods', ['get', 'list', 'watch']),
  // Kubernetes 1.35 and later check `create` also for exec over WebSocket, earlier ones `get`.
  ...['create', 'get'].map(verb => ({ group: '', resource: 'pods', subresource: 'exec', verb })),
  ...rights('', 'persistentvolumeclaims', ['get']),
  ...rights('networking.k8s.io', 'networkpolicies', ['create', 'get']),
]

export const textOfRight = ({ group, resource, subresource, verb }: Right): string =>
  `${verb} ${resource}${subresource ? `/${subresource}` : ''}${group ? `.${group}` : ''}`

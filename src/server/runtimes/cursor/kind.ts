import type { Outbound } from '../../platform/outbound.ts'
import { closing, createConnection } from '../remote/connection.ts'
import type { RuntimeEndpoint, RuntimeKind } from '../runtime.ts'
import { type CursorApi, cursorApi, cursorDialect } from './api.ts'
import { cursorCapabilities, cursorRuntime } from './runtime.ts'
import type { CursorDeps } from './task.ts'

interface Deps extends CursorDeps {
  readonly outbound: Pick<Outbound, 'connect'>
}

/** Protocol of Cursor's cloud agents, version 1. Dialects: section 3. */
export function cursorKind({ outbound, ...deps }: Deps): RuntimeKind {
  const connect = (endpoint: RuntimeEndpoint) => createConnection(outbound, endpoint, cursorDialect)
  const once = <T>(endpoint: RuntimeEndpoint, use: (api: CursorApi) => Promise<T>) =>
    closing(connect(endpoint), connection => use(cursorApi(connection)))

  return {
    spec: 'cursor',
    capabilities: cursorCapabilities,
    connect: endpoint => cursorRuntime(endpoint, cursorApi(connect(endpoint)), deps),
    check: (endpoint, signal) => once(endpoint, api => api.me(signal)),
    models: (endpoint, signal) =>
      once(endpoint, async api => (await api.models(signal)).map(({ id, display_name }) => ({ id, display_name }))),
  }
}

import { type Json, textOf } from '../../platform/json.ts'

/** Operations of A2A, by their names in JSON-RPC. */
export type Operation =
  | 'SendMessage'
  | 'SendStreamingMessage'
  | 'GetTask'
  | 'ListTasks'
  | 'CancelTask'
  | 'SubscribeToTask'

interface RestRequest {
  readonly method: 'GET' | 'POST'
  /** With its query, after the address of the interface. */
  readonly path: string
  readonly body?: Json
}

/** Returns the request of an operation in the HTTP+JSON binding. Source: A2A 1.0, section 11. */
export function restRequest(operation: Operation, params: Json): RestRequest {
  const { id, ...others } = params
  const task = `/tasks/${encodeURIComponent(textOf(id))}`
  switch (operation) {
    case 'SendMessage':
      return { method: 'POST', path: '/message:send', body: params }
    case 'SendStreamingMessage':
      return { method: 'POST', path: '/message:stream', body: params }
    case 'GetTask':
      return { method: 'GET', path: `${task}${queryOf(others)}` }
    case 'ListTasks':
      return { method: 'GET', path: `/tasks${queryOf(params)}` }
    case 'CancelTask':
      return { method: 'POST', path: `${task}:cancel`, body: others }
    case 'SubscribeToTask':
      return { method: 'POST', path: `${task}:subscribe`, body: others }
  }
}

const queryOf = (params: Json): string => {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(params)) query.set(name, String(value))
  return query.size === 0 ? '' : `?${query}`
}

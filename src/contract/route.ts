import type { Static, TSchema } from 'typebox'
import type { TagName } from './tags.ts'

/**
 * Who may call a route. `key-or-query` also takes the key as `?key=`, `google-key` as `x-goog-api-key` or `?key=`;
 * `key-unless-public` requires a key unless the object is public; `webhook` checks a token of its own.
 */
export type Access = 'public' | 'key' | 'admin' | 'key-or-query' | 'google-key' | 'key-unless-public' | 'webhook'

/**
 * Format of a route's errors: `{error:{type,message}}`, `{error:"text"}`, the envelope of Anthropic, OpenAI or Google, JSON-RPC, or
 * those of A2A's two bindings. `by-header`: Anthropic's with a header `anthropic-version` or `anthropic-beta`, else OpenAI's.
 */
export type ErrorShape =
  | 'nested'
  | 'plain'
  | 'anthropic'
  | 'openai'
  | 'by-header'
  | 'google'
  | 'aws'
  | 'jsonrpc'
  | 'a2a'
  | 'a2a-rpc'

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** One endpoint as data. Server, OpenAPI document, client and contract test all read the same value. */
export interface Route {
  /** `group.verb`, unique; the OpenAPI operationId. */
  readonly id: string
  readonly method: Method
  /** Parameters in braces: `/session/{session_id}`. A parameter `{path}` may contain slashes. */
  readonly path: string
  /** Other paths of this endpoint. Everything that applies to the route applies to each of them. */
  readonly aliases?: readonly string[]
  readonly access: Access
  readonly errorShape: ErrorShape
  /** A few words without a full stop: `Create an agent`. */
  readonly summary: string
  /**
   * Effects, defaults, limits and errors of the operation, in Markdown. The document adds who may call it, paging,
   * streaming and aliases from the other fields.
   */
  readonly description: string
  /** Tag in the OpenAPI document when it differs from that of the group. */
  readonly group?: TagName
  readonly params?: TSchema
  readonly query?: TSchema
  readonly body?: TSchema
  /**
   * Handling of fields that `body` does not declare. `rejected` (default): 400; `reported`: listed in `x-switchyard-ignored`, on
   * routes of the interface and of the served dialects, top level only; `passed`: passed on unchanged.
   */
  readonly unknownFields?: 'rejected' | 'reported' | 'passed'
  /** Maximum size of the body in bytes; 2 MB by default. */
  readonly bodyLimit?: number
  /** True when programs of a session may call it with the key of their run. */
  readonly isForPrograms?: boolean
  /** True when processes of the role `worker`, which serve no API, serve it too. */
  readonly isOnWorkers?: boolean
  /**
   * True when viewers may call it although its method is not GET, since it changes nothing; false when they may not although it is.
   */
  readonly isRead?: boolean
  /** True when a request may omit the body. */
  readonly bodyOptional?: boolean
  /** Schema per status; null for a response without a body. */
  readonly responses: Readonly<Record<number, TSchema | null>>
  /** Answers without an error that only some senders get; the success is in `responses`. */
  readonly otherResponses?: Readonly<Record<number, TSchema>>
  /** Content type of a success response that is not `application/json`. */
  readonly produces?:
    | 'application/a2a+json'
    | 'text/event-stream'
    | 'text/html'
    | 'text/javascript'
    | 'text/plain'
    | 'audio/mpeg'
    | 'application/octet-stream'
    | 'application/gzip'
  /** Success bodies of other content types, which a request may ask for. A media range stands for each of its types. */
  readonly alternatives?: Readonly<Record<string, TSchema>>
  /** Content type of a body other than `application/json`, which routes with a `body` always accept. */
  readonly consumes?:
    | 'multipart/form-data'
    | 'application/octet-stream'
    | 'application/x-www-form-urlencoded'
    | 'application/a2a+json'
  /** True when the answer has the status of a provider, whatever it is. */
  readonly relaysStatus?: boolean
  /** True when `format=csv` in the query returns the whole list as comma-separated values. */
  readonly hasCsv?: boolean
}

/** Returns `spec` with its literal types, from which bind and the client infer. */
export const route = <const R extends Route>(spec: R): R => spec

type Part<S> = S extends TSchema ? Static<S> : undefined

/** Input of a handler: each part has the type of its schema, or undefined when the route declares none. */
export interface Input<R extends Route> {
  readonly params: Part<R['params']>
  readonly query: Part<R['query']>
  readonly body: R['bodyOptional'] extends true ? Part<R['body']> | undefined : Part<R['body']>
}

type Success<R extends Route> = Extract<keyof R['responses'], 200 | 201 | 202 | 204>

/** Success body of a route; void for a response without one. */
export type Result<R extends Route> = R['responses'][Success<R>] extends infer S
  ? S extends TSchema
    ? Static<S>
    : void
  : never

/** Success status of a route. */
export function successStatus(spec: Route): number {
  const status = Object.keys(spec.responses)
    .map(Number)
    .find(code => code < 400)
  if (status === undefined) throw new Error(`route ${spec.id} declares no success status`)
  return status
}

import { createRequire } from 'node:module'
import type * as Undici from 'undici'

// The main module of undici also loads fetch, caches, proxies and WebSocket, which are not used here and would cost 15
// MB of memory and a tenth of the start time. The paths below depend on the exact version in the lockfile.
const require = createRequire(import.meta.url)

/** Connection pool of one origin. */
export const Pool = require('undici/lib/dispatcher/pool.js') as typeof Undici.Pool

/** Returns a function that opens connections. */
export const buildConnector = require('undici/lib/core/connect.js') as typeof Undici.buildConnector

/** Error classes of connections. */
export const errors = require('undici/lib/core/errors.js') as typeof Undici.errors

/** Sends a request with the dispatcher `this`. The main module would add it as a method of every dispatcher. */
export const request = require('undici/lib/api/api-request.js') as (
  this: Undici.Dispatcher,
  options: Undici.Dispatcher.RequestOptions,
) => Promise<Undici.Dispatcher.ResponseData>

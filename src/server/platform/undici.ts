import { createRequire } from 'node:module'
import type * as Undici from 'undici'

// The main module of undici also loads its fetch, caches, proxies and web sockets, none of which is used here: that would
// be 15 MB of memory and a tenth of the time of every start. The files below belong to the exact version of the lockfile.
const require = createRequire(import.meta.url)

/** Connections to one origin. */
export const Pool = require('undici/lib/dispatcher/pool.js') as typeof Undici.Pool

/** Makes the function that opens a connection. */
export const buildConnector = require('undici/lib/core/connect.js') as typeof Undici.buildConnector

/** The classes of errors that a connection ends with. */
export const errors = require('undici/lib/core/errors.js') as typeof Undici.errors

/** Makes a call over the dispatcher that is `this`. The main module would make it a method of every dispatcher. */
export const request = require('undici/lib/api/api-request.js') as (
  this: Undici.Dispatcher,
  options: Undici.Dispatcher.RequestOptions,
) => Promise<Undici.Dispatcher.ResponseData>

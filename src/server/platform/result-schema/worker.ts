// Thread that validates schemas and values, and searches patterns. The main thread terminates it after a timeout.
import { parentPort } from 'node:worker_threads'
import { problemOf } from './check.ts'
import type { CheckTask } from './check-task.ts'

parentPort?.on('message', (task: CheckTask) => parentPort?.postMessage(problemOf(task)))
// The time limit of a check begins only once the modules of the thread are loaded. The first check takes twice as long.
problemOf({ schema: '{}' })
parentPort?.postMessage('ready')

// Thread that validates schemas and values. The main thread terminates it after a timeout.
import { parentPort } from 'node:worker_threads'
import { problemOf, type SchemaTask } from './check.ts'

parentPort?.on('message', (task: SchemaTask) => parentPort?.postMessage(problemOf(task)))
// The time limit of a check begins only once the modules of the thread are loaded.
parentPort?.postMessage('ready')

// A thread that checks schemas and values: whoever asks ends it when it takes too long.
import { parentPort } from 'node:worker_threads'
import { problemOf, type SchemaTask } from './check.ts'

parentPort?.on('message', (task: SchemaTask) => parentPort?.postMessage(problemOf(task)))

// Starts a program of ours on a fresh machine: `node scripts/bootstrap.mjs <script> [arguments]`.
import { launch } from './launch.mjs'

const [script, ...args] = process.argv.slice(2)
launch(script, args)

import { startScriptedUpstream } from './scripted-upstream.ts'

/** Runs a scripted upstream as its own process: prints `{"port":n}`, and ends with its standard input. */
const upstream = await startScriptedUpstream({ port: Number(process.argv[2] ?? 0) })
process.stdout.write(`${JSON.stringify({ port: upstream.port })}\n`)
process.stdin.resume().on('end', () => void upstream.stop())

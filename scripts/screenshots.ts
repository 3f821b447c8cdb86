// npm run screenshots    writes pictures of every page of the console to .cache/screenshots, and those of the docs
import { spawnSync } from 'node:child_process'

const args = ['scripts/test.ts', 'test/console/take-screenshots.ts']
process.exitCode = spawnSync(process.execPath, args, { stdio: 'inherit' }).status ?? 1

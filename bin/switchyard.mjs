#!/usr/bin/env node
import { existsSync } from 'node:fs'
import { launch } from '../scripts/launch.mjs'

// A clone has the sources, the package has what was compiled from them.
const isClone = existsSync(new URL('../src', import.meta.url))
launch(isClone ? 'src/cli/main.ts' : 'service/cli/main.js', process.argv.slice(2))

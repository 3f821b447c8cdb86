#!/usr/bin/env node
import { launch } from '../scripts/launch.mjs'

launch('src/cli/main.ts', process.argv.slice(2))

// Places for the nodes of a picture by ForceAtlas2, beside the page, which stays awake meanwhile.
"use strict";

/** What the package's script fills. */
var module = {};

/** Numbers of a node and of an edge, and where the mass, the convergence and the size of a node begin. */
const PER_NODE = 10, PER_EDGE = 3, MASS = 6;
/** Steps of one node for all nodes together; steps at least and at most. */
const STEPS = 100000, FEWEST = 50, MOST = 300;
const LEAST_WEIGHT = 0.01;

onmessage = ({ data: { forces, nodes, edges } }) => {
  importScripts(forces);
  const row = new Map(nodes.map((id, at) => [id, at * PER_NODE]));
  const ties = edges.filter(({ source, target }) => source !== target), weights = ties.map(({ weight }) => Math.max(weight, LEAST_WEIGHT));
  const matrix = new Float32Array(nodes.length * PER_NODE), joined = new Float32Array(ties.length * PER_EDGE);
  for (const [at] of nodes.entries()) {
    // A sunflower: evenly apart, the first in the middle, and the same each time.
    const angle = at * Math.PI * (3 - Math.sqrt(5)), radius = 10 * Math.sqrt(at + 0.5);
    matrix.set([radius * Math.cos(angle), radius * Math.sin(angle)], at * PER_NODE);
    matrix.set([1, 1, 1], at * PER_NODE + MASS);
  }
  ties.forEach(({ source, target }, at) => {
    joined.set([row.get(source), row.get(target), weights[at]], at * PER_EDGE);
    matrix[row.get(source) + MASS] += weights[at];
    matrix[row.get(target) + MASS] += weights[at];
  });
  // As the package itself infers them from the number of nodes, with coarser groups for speed.
  const options = { linLogMode: false, outboundAttractionDistribution: false, adjustSizes: false, edgeWeightInfluence: 1, scalingRatio: 10, strongGravityMode: true, gravity: 0.05, slowDown: 1 + Math.log(Math.max(nodes.length, 1)), barnesHutOptimize: nodes.length > 400, barnesHutTheta: 1 };
  const steps = Math.min(Math.max(STEPS / nodes.length, FEWEST), MOST);
  for (let step = 0; step < steps && nodes.length > 1; step++) module.exports(options, matrix, joined);
  postMessage(turned(nodes.map((_, at) => [matrix[at * PER_NODE], matrix[at * PER_NODE + 1]])));
};

/** The same places around the middle, turned so that the picture is wider than high, as screens are. */
function turned(places) {
  const middle = [0, 1].map((axis) => places.reduce((sum, at) => sum + at[axis], 0) / places.length);
  const from = places.map(([x, y]) => [x - middle[0], y - middle[1]]);
  const spread = (one, other) => from.reduce((sum, at) => sum + at[one] * at[other], 0);
  const angle = Math.atan2(2 * spread(0, 1), spread(0, 0) - spread(1, 1)) / 2, cos = Math.cos(angle), sin = Math.sin(angle);
  return from.map(([x, y]) => [x * cos + y * sin, y * cos - x * sin]);
}

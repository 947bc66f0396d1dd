"""Shaders of the renderer, and the layout of their inputs.

Light is computed at vertices: the brightest light, if it casts a shadow, apart from the others. Pixels multiply it
with the texture and add the shadow. All frames of a batch are layers of one image, and one draw call draws a shape in
all of them: an instance is a geom in a frame.
"""

from collections.abc import Mapping

import numpy as np

LIGHTS = 5
"""Lights of a frame. The first casts the shadow."""

INSTANCE = np.dtype(
    [
        ("axes", np.float32, (3, 4)),  # rows of the geom's pose
        ("scale", np.float32, 4),  # along x, y and z, and length
        ("rgba", np.float32, 4),
        ("surface", np.float32, 4),  # specular, shininess, emission, share of the mirror image
        ("texture", np.float32, 4),  # layer or -1, repeats along both axes, coordinates: PROJECTED, ...
        ("place", np.float32, 4),  # frame, code of the geom in masks, shadow map or -1, mirror image or -1
    ]
)

PROJECTED, OWN_COORDINATES, FLAT_FACES = range(3)
"""Texture coordinates: by the direction of the surface in each pixel, those of a mesh, or by the direction of a face,
which is the same at all its vertices."""

FRAME = np.dtype(
    [
        ("clip", np.float32, (4, 4)),  # world to clip space, by rows
        ("eye", np.float32, 4),  # position of the camera
        ("ambient", np.float32, 4),
        ("shadow", np.float32, (4, 4)),  # world to the shadow map, by rows
        ("lights", np.float32, (LIGHTS, 2, 4)),  # direction to the light, intensity of its highlight; its colour
    ]
)
TEXELS = FRAME.itemsize // 16
"""Texels of four numbers that a frame takes in the buffer."""

_HEAD = """#version 330 compatibility
#extension GL_ARB_shader_viewport_layer_array : enable
#extension GL_ARB_blend_func_extended : enable
"""

_INPUT = """
layout(location = 0) in vec4 base;      // position, shift along z
layout(location = 1) in vec3 normal;
layout(location = 2) in vec2 uv;
layout(location = 3) in vec4 axis_x;
layout(location = 4) in vec4 axis_y;
layout(location = 5) in vec4 axis_z;
layout(location = 6) in vec4 scale;
layout(location = 7) in vec4 rgba;
layout(location = 8) in vec4 surface;
layout(location = 9) in vec4 texture_place;
layout(location = 10) in vec4 place;
uniform samplerBuffer frames;

vec4 of_frame(int texel) { return texelFetch(frames, int(place.x) * TEXELS + texel); }

vec3 in_world(vec3 local) {
    vec4 p = vec4(local, 1.0);
    return vec3(dot(axis_x, p), dot(axis_y, p), dot(axis_z, p));
}
"""

_LAYER = """
#ifdef LAYERS
    gl_Layer = int(LAYER);
#endif
"""

_VARYINGS = """
#ifdef SHADOWS
LINK vec3 own_light;
LINK vec3 key_light;
LINK vec2 highlight;
LINK vec3 in_shadow;
flat LINK vec3 paint;
flat LINK vec2 gloss;   // share of the mirror image or of the sheen, shadow layer
#ifdef GLOSS
LINK vec3 sheen;
#endif
#else
LINK vec3 factor;       // of the texture's colour
LINK vec3 added;
#endif
#ifdef TEXTURED
flat LINK float texture_layer;
#ifdef FLAT_FACES
LINK vec2 texture_at;
#else
LINK vec3 local_place;
LINK vec3 local_normal;
#endif
#endif
#ifdef MIRROR
flat LINK vec2 mirrored; // layer, share
LINK float upward;
#endif
#ifdef BLENDED
flat LINK float alpha;
#endif
flat LINK float code;
"""
"""Outputs of the vertex shader, which the pixel shader reads. In software, each of them costs time in every pixel."""

_PROJECTED = """
vec2 projected(vec3 place, vec3 direction) {
    vec3 side = abs(direction);
    return side.z >= max(side.x, side.y) ? place.xy : side.x >= side.y ? place.yz : place.zx;
}
"""

_COLOUR_VERTEX = (
    _VARYINGS.replace("LINK", "out")
    + _INPUT
    + _PROJECTED
    + """
void main() {
    vec3 local = base.xyz * scale.xyz + vec3(0.0, 0.0, base.w * scale.w);
    vec3 point = in_world(local);
    vec3 bent = normal / scale.xyz;
    vec3 n = normalize(vec3(dot(axis_x.xyz, bent), dot(axis_y.xyz, bent), dot(axis_z.xyz, bent)));
    vec4 p = vec4(point, 1.0);
    gl_Position = vec4(dot(of_frame(0), p), dot(of_frame(1), p), dot(of_frame(2), p), dot(of_frame(3), p));
    vec3 towards_eye = normalize(of_frame(4).xyz - point);
    vec3 others = of_frame(5).rgb + vec3(surface.z);
    vec3 key = vec3(0.0);
    vec2 shines = vec2(0.0);
    for (int light = 0; light < LIGHTS; light++) {
        vec4 towards = of_frame(10 + 2 * light);
        vec3 colour = of_frame(11 + 2 * light).rgb;
        float facing = max(dot(n, towards.xyz), 0.0);
        float shine = 0.0;
        if (facing > 0.0 && towards.w > 0.0) {
            float middle = max(dot(n, normalize(towards.xyz + towards_eye)), 0.0);
            shine = surface.x * towards.w * pow(middle, max(128.0 * surface.y, 1.0));
        }
        if (light == 0) {
            key = colour * facing;
            shines.x = shine;
        } else {
            others += colour * facing;
            shines.y += shine;
        }
    }
#ifdef GLOSS
    // A glossy surface without a mirror image reflects an even room and the brightest light.
    float glossy = place.w < 0.0 ? surface.w : 0.0;
    vec3 bounced = reflect(-towards_eye, n);
    float to_light = max(dot(bounced, of_frame(10).xyz), 0.0);
    vec3 reflected = of_frame(5).rgb * (1.3 + 0.9 * bounced.z) + of_frame(11).rgb * pow(to_light, 12.0);
#endif
#ifdef SHADOWS
    own_light = others;
    key_light = key;
    highlight = shines;
    in_shadow = vec3(dot(of_frame(6), p), dot(of_frame(7), p), dot(of_frame(8), p));
    paint = rgba.rgb;
    gloss = vec2(0.0, place.z);
#ifdef GLOSS
    gloss.x = glossy;
    sheen = reflected;
#endif
#else
    factor = rgba.rgb * min(others + key, vec3(1.6));
    added = vec3(shines.x + shines.y);
#ifdef GLOSS
    factor *= 1.0 - glossy;
    added = mix(added, reflected, glossy);
#endif
#endif
#ifdef TEXTURED
    texture_layer = texture_place.x;
    // Along the long side of a capsule too, the texture goes from 0 to 1.
    vec3 share = local / vec3(scale.xy, scale.z + scale.w);
    vec3 within = 0.5 * share * vec3(texture_place.yz, texture_place.y) + 0.5;
    bool own = texture_place.w == OWN_COORDINATES;
#ifdef FLAT_FACES
    texture_at = own ? uv : projected(within, normal);
#else
    local_place = own ? vec3(uv, 0.0) : within;
    local_normal = own ? vec3(0.0, 0.0, 1.0) : normal;
#endif
#endif
#ifdef MIRROR
    mirrored = vec2(place.w, surface.w);
    upward = texture_place.w == OWN_COORDINATES ? 1.0 : normal.z;
#endif
#ifdef BLENDED
    alpha = rgba.a;
#endif
    code = place.y;
"""
    + _LAYER
    + "}\n"
)

_COLOUR_PIXEL = (
    _VARYINGS.replace("LINK", "in")
    + _PROJECTED
    + """
#ifdef TEXTURED
uniform sampler2DArray textures;
#endif
#ifdef SHADOWS
uniform sampler2DArrayShadow shadows;
#endif
#ifdef MIRROR
uniform sampler2DArray mirror;
uniform vec2 mirror_scale;
#endif
layout(location = 0, index = 0) out vec4 pixel;
#ifdef BLENDED
layout(location = 0, index = 1) out vec4 cover;
#endif

#ifdef SHADOWS
float lit() {
    if (gloss.y < 0.0) return 1.0;
    if (any(greaterThan(abs(in_shadow.xy - 0.5), vec2(0.5)))) return 1.0;
#if TAPS == 1
    return texture(shadows, vec4(in_shadow.xy, gloss.y, in_shadow.z));
#else
    float sum = 0.0;
    for (int row = 0; row < TAPS; row++)
        for (int column = 0; column < TAPS; column++) {
            vec2 offset = (vec2(column, row) - 0.5 * float(TAPS - 1)) * SPREAD;
            sum += texture(shadows, vec4(in_shadow.xy + offset, gloss.y, in_shadow.z));
        }
    return sum / float(TAPS * TAPS);
#endif
}
#endif

void main() {
    vec3 colour = vec3(1.0);
#ifdef TEXTURED
#ifdef FLAT_FACES
    colour = texture(textures, vec3(texture_at, texture_layer)).rgb;
#else
    if (texture_layer >= 0.0)
        colour = texture(textures, vec3(projected(local_place, local_normal), texture_layer)).rgb;
#endif
#endif
#ifdef SHADOWS
    float shade = lit();
    colour *= paint * min(own_light + shade * key_light, vec3(1.6));
    colour += vec3(highlight.x * shade + highlight.y);
#ifdef GLOSS
    colour = mix(colour, sheen, gloss.x);
#endif
#else
    colour = colour * factor + added;
#endif
#ifdef MIRROR
    if (mirrored.x >= 0.0 && upward > 0.5) {
        // A polished surface loses only a part of its own colour.
        vec3 image = texture(mirror, vec3(gl_FragCoord.xy * mirror_scale, mirrored.x)).rgb;
        colour = colour * (1.0 - 0.5 * mirrored.y) + image * mirrored.y;
    }
#endif
    pixel = vec4(colour, code);
#ifdef BLENDED
    cover = vec4(alpha);
#endif
}
"""
)

_SHADOW_VERTEX = (
    _INPUT
    + """
void main() {
    vec3 local = base.xyz * scale.xyz + vec3(0.0, 0.0, base.w * scale.w);
    vec4 p = vec4(in_world(local), 1.0);
    vec3 map = vec3(dot(of_frame(6), p), dot(of_frame(7), p), dot(of_frame(8), p));
    gl_Position = vec4(2.0 * map.x - 1.0, 1.0 - 2.0 * map.y, map.z, 1.0);
"""
    + _LAYER
    + "}\n"
)


def vertex_shader(defines: Mapping[str, str]) -> str:
    """Source of the vertex shader; SHADOW_MAP selects the one that draws shadow maps."""
    shadow = "SHADOW_MAP" in defines
    own = {
        "LAYER": "place.z" if shadow else "place.x",
        "LIGHTS": str(LIGHTS),
        "OWN_COORDINATES": f"{OWN_COORDINATES}.0",
    }
    return _HEAD + _defined({**defines, **own}) + (_SHADOW_VERTEX if shadow else _COLOUR_VERTEX)


def pixel_shader(defines: Mapping[str, str]) -> str:
    """Source of the fragment shader."""
    return _HEAD + _defined(defines) + ("void main() {}\n" if "SHADOW_MAP" in defines else _COLOUR_PIXEL)


def _defined(defines: Mapping[str, str]) -> str:
    return "".join(f"#define {name} {value}\n" for name, value in defines.items())

"""Shaders of the renderer, and the layout of their inputs.

Light is computed at vertices: the brightest light, which casts the shadow, apart from the others. Pixels multiply it
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
        ("texture", np.float32, 4),  # layer or -1, repeats along both axes, 1 if the mesh has coordinates
        ("place", np.float32, 4),  # frame, code of the geom in masks, shadow map or -1, mirror image or -1
    ]
)

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

_COLOUR_VERTEX = (
    """
out vec3 own_light;
out vec3 key_light;
out vec2 highlight;
out vec3 local_place;
out vec3 local_normal;
out vec3 in_shadow;
flat out vec4 paint;
flat out vec4 kind;   // texture layer, code, share of the mirror image, shadow layer
flat out float mirror_layer;
#ifdef GLOSS
out vec3 sheen;
#endif
"""
    + _INPUT
    + """
void main() {
    vec3 local = base.xyz * scale.xyz + vec3(0.0, 0.0, base.w * scale.w);
    vec3 point = in_world(local);
    vec3 bent = normal / scale.xyz;
    vec3 n = normalize(vec3(dot(axis_x.xyz, bent), dot(axis_y.xyz, bent), dot(axis_z.xyz, bent)));
    vec4 p = vec4(point, 1.0);
    gl_Position = vec4(dot(of_frame(0), p), dot(of_frame(1), p), dot(of_frame(2), p), dot(of_frame(3), p));
    vec3 towards_eye = normalize(of_frame(4).xyz - point);
    own_light = of_frame(5).rgb + vec3(surface.z);
    key_light = vec3(0.0);
    highlight = vec2(0.0);
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
            key_light = colour * facing;
            highlight.x = shine;
        } else {
            own_light += colour * facing;
            highlight.y += shine;
        }
    }
    if (texture_place.w > 0.5) {
        local_place = vec3(uv, 0.0);
        local_normal = vec3(0.0, 0.0, 1.0);
    } else {
        // Along the long side of a capsule too, the texture goes from 0 to 1.
        vec3 share = local / vec3(scale.xy, scale.z + scale.w);
        local_place = 0.5 * share * vec3(texture_place.yz, texture_place.y) + 0.5;
        local_normal = normal;
    }
    in_shadow = vec3(dot(of_frame(6), p), dot(of_frame(7), p), dot(of_frame(8), p));
    paint = rgba;
    kind = vec4(texture_place.x, place.y, surface.w, place.z);
    mirror_layer = place.w;
#ifdef GLOSS
    // A glossy surface without a mirror image reflects an even room and the brightest light.
    vec3 bounced = reflect(-towards_eye, n);
    float to_light = max(dot(bounced, of_frame(10).xyz), 0.0);
    sheen = of_frame(5).rgb * (1.3 + 0.9 * bounced.z) + of_frame(11).rgb * pow(to_light, 12.0);
#endif
"""
    + _LAYER
    + "}\n"
)

_COLOUR_PIXEL = """
in vec3 own_light;
in vec3 key_light;
in vec2 highlight;
in vec3 local_place;
in vec3 local_normal;
in vec3 in_shadow;
flat in vec4 paint;
flat in vec4 kind;
flat in float mirror_layer;
uniform sampler2DArray textures;
#ifdef GLOSS
in vec3 sheen;
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

float lit() {
#ifdef SHADOWS
    if (kind.w < 0.0) return 1.0;
    if (any(greaterThan(abs(in_shadow.xy - 0.5), vec2(0.5)))) return 1.0;
#if TAPS == 1
    return texture(shadows, vec4(in_shadow.xy, kind.w, in_shadow.z));
#else
    float sum = 0.0;
    for (int row = 0; row < TAPS; row++)
        for (int column = 0; column < TAPS; column++) {
            vec2 offset = (vec2(column, row) - 0.5 * float(TAPS - 1)) * SPREAD;
            sum += texture(shadows, vec4(in_shadow.xy + offset, kind.w, in_shadow.z));
        }
    return sum / float(TAPS * TAPS);
#endif
#else
    return 1.0;
#endif
}

void main() {
    vec3 colour = paint.rgb;
#ifdef TEXTURED
    if (kind.x >= 0.0) {
        vec3 side = abs(local_normal);
        vec2 at = side.z >= max(side.x, side.y) ? local_place.xy
                : side.x >= side.y ? local_place.yz : local_place.zx;
        colour *= texture(textures, vec3(at, kind.x)).rgb;
    }
#endif
    float shade = lit();
    colour = colour * min(own_light + shade * key_light, vec3(1.6)) + vec3(highlight.x * shade + highlight.y);
#ifdef GLOSS
    if (mirror_layer < 0.0) colour = mix(colour, sheen, kind.z);
#endif
#ifdef MIRROR
    if (mirror_layer >= 0.0 && local_normal.z > 0.5) {
        // A polished surface loses only a part of its own colour.
        vec3 image = texture(mirror, vec3(gl_FragCoord.xy * mirror_scale, mirror_layer)).rgb;
        colour = colour * (1.0 - 0.5 * kind.z) + image * kind.z;
    }
#endif
    pixel = vec4(colour, kind.y);
#ifdef BLENDED
    cover = vec4(paint.a);
#endif
}
"""

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
    layer = {"LAYER": "place.z" if shadow else "place.x"}
    return (
        _HEAD + _defined({**defines, **layer, "LIGHTS": str(LIGHTS)}) + (_SHADOW_VERTEX if shadow else _COLOUR_VERTEX)
    )


def pixel_shader(defines: Mapping[str, str]) -> str:
    """Source of the fragment shader."""
    return _HEAD + _defined(defines) + ("void main() {}\n" if "SHADOW_MAP" in defines else _COLOUR_PIXEL)


def _defined(defines: Mapping[str, str]) -> str:
    return "".join(f"#define {name} {value}\n" for name, value in defines.items())
